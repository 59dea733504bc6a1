// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Queries and answers treat these keys in a special way.
const (
	keyUID         = "_uid"
	keyRelatedUIDs = "_relatedUids"
	keyCluster     = "cluster"
	keyHub         = "_hubClusterResource"
	keyKind        = "kind"
	keyKindPlural  = "kind_plural"
)

// Row is one object of one cluster. Data contains string, bool, float64, int, map[string]any, []any or nil.
// The table keeps Data, so callers must not change it afterwards.
type Row struct {
	// UID is "<cluster>/<uid of the object>", or "cluster__<name>" for the node of a cluster.
	UID string
	// Cluster is the cluster's name.
	Cluster string
	// Data contains the properties except the cluster and the UID.
	Data map[string]any
}

// ClusterUID returns the UID of the node of a cluster.
func ClusterUID(cluster string) string { return "cluster__" + cluster }

// Item is a row as JSON.
type Item []byte

// flat returns the properties in search's form: every value is a string, and a property without a value is
// absent.
func (r Row) flat() map[string]string {
	out := make(map[string]string, len(r.Data)+2)
	for key, value := range r.Data {
		if value != nil {
			out[key] = Flatten(value)
		}
	}
	out[keyUID] = r.UID
	out[keyCluster] = r.Cluster
	return out
}

// Flatten returns a stored value in search's form, with its losses. Numbers lose their fraction, and the
// elements of an array their case and order. Values that are nested deeper become meaningless.
func Flatten(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case bool:
		return strconv.FormatBool(v)
	case int:
		return strconv.Itoa(v)
	case float64:
		return strconv.FormatInt(int64(v), 10)
	case map[string]any:
		return flattenMap(v)
	case []any:
		return flattenArray(v)
	default:
		return ""
	}
}

func flattenMap(values map[string]any) string {
	pairs := make([]string, 0, len(values))
	for _, key := range slices.Sorted(maps.Keys(values)) {
		value := values[key]
		switch value.(type) {
		case int, float64:
			value = Flatten(value)
		}
		// The service formats every value with %s, and Flatten does the same.
		pairs = append(pairs, fmt.Sprintf("%s=%s", key, value))
	}
	return strings.Join(pairs, "; ")
}

func flattenArray(values []any) string {
	elements := make([]string, 0, len(values))
	for _, value := range values {
		switch value.(type) {
		case string, bool, int, float64:
			elements = append(elements, strings.ToLower(Flatten(value)))
		}
	}
	slices.Sort(elements)
	return strings.Join(elements, "; ")
}

// withRelated returns a row as a related item of the items with these UIDs.
func (i Item) withRelated(uids []string) Item {
	list := Encode(uids)
	out := make(Item, 0, len(i)+len(list)+len(keyRelatedUIDs)+4)
	out = append(out, `{"`+keyRelatedUIDs+`":`...)
	out = append(out, list...)
	out = append(out, ',')
	return append(out, i[1:]...)
}

// Encode returns a value as JSON. The value must be encodable.
func Encode(value any) Item {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return Item("null")
	}
	return Item(bytes.TrimRight(out.Bytes(), "\n"))
}
