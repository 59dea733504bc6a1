// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package schemas

import (
	"encoding/json"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// beyondFloat is a number that changes if a decoder converts it to a float.
const beyondFloat = int64(1)<<53 + 1

// fill returns a value with every field of a schema.
func fill(t *testing.T, schema *apiextensionsv1.JSONSchemaProps) any {
	t.Helper()
	switch {
	case len(schema.Enum) > 0:
		var value any
		if err := json.Unmarshal(schema.Enum[0].Raw, &value); err != nil {
			t.Fatal(err)
		}
		return value
	case schema.XIntOrString:
		return "25%"
	case schema.Type == "object":
		return fillObject(t, schema)
	case schema.Type == "array":
		return []any{fill(t, schema.Items.Schema)}
	case schema.Type == "integer" && schema.Format == "int64":
		return beyondFloat
	case schema.Type == "integer":
		return int64(7)
	case schema.Type == "number":
		return 0.25
	case schema.Type == "boolean":
		return true
	case schema.Format == "date-time":
		return "2026-11-21T10:00:00Z"
	}
	return "text"
}

func fillObject(t *testing.T, schema *apiextensionsv1.JSONSchemaProps) map[string]any {
	t.Helper()
	object := map[string]any{}
	for name := range schema.Properties {
		property := schema.Properties[name]
		object[name] = fill(t, &property)
	}
	if schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil {
		object["key"] = fill(t, schema.AdditionalProperties.Schema)
	}
	if schema.XPreserveUnknownFields != nil && *schema.XPreserveUnknownFields {
		object["anything"] = map[string]any{"number": beyondFloat, "list": []any{"text", true}}
	}
	return runtime.DeepCopyJSON(object)
}

// fields counts the leaves of a value.
func fields(value any) int {
	n := 0
	switch v := value.(type) {
	case map[string]any:
		for _, member := range v {
			n += fields(member)
		}
	case []any:
		for _, member := range v {
			n += fields(member)
		}
	default:
		return 1
	}
	return n
}
