// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package intermediate

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// decode reads a report piece by piece, so that only what is kept takes memory, and
// what many entries share only once. Entries that are out of bounds are left out and counted:
// everything in a report was said by a managed cluster.
func decode(from io.Reader) (*Report, error) {
	d := &decoder{json: json.NewDecoder(from), texts: map[string]string{}}
	err := d.object(func(field string) error {
		switch field {
		case "schemaVersion":
			return d.json.Decode(&d.report.SchemaVersion)
		case "namespace":
			return d.json.Decode(&d.report.Namespace)
		case "name":
			return d.json.Decode(&d.report.Name)
		case "applications":
			return d.list(d.application)
		case "unreadClusters":
			return d.list(d.unreadCluster)
		}
		return d.ignore()
	})
	if err != nil {
		return nil, err
	}
	if _, err := d.json.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the report")
	}
	return &d.report, nil
}

type decoder struct {
	json   *json.Decoder
	report Report
	texts  map[string]string // those that are kept
}

// object calls field for each field of the object that follows, which has to read its value.
func (d *decoder) object(field func(string) error) error {
	if open, err := d.json.Token(); err != nil || open != json.Delim('{') {
		return unexpected("an object", open, err)
	}
	for d.json.More() {
		name, err := d.json.Token()
		if err != nil {
			return err
		}
		s, _ := name.(string)
		if err := field(s); err != nil {
			return fmt.Errorf("field %.64q: %w", s, err)
		}
	}
	_, err := d.json.Token()
	return err
}

// list calls element for each element of the list that follows, which has to read it.
func (d *decoder) list(element func() error) error {
	open, err := d.json.Token()
	if err == nil && open == nil {
		return nil // null
	}
	if err != nil || open != json.Delim('[') {
		return unexpected("a list", open, err)
	}
	for d.json.More() {
		if err := element(); err != nil {
			return err
		}
	}
	_, err = d.json.Token()
	return err
}

func unexpected(want string, got json.Token, err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	if err != nil {
		return err
	}
	return fmt.Errorf("want %s, have %.64q", want, fmt.Sprint(got))
}

// ignore skips the value of a field that a newer writer added.
func (d *decoder) ignore() error {
	var value json.RawMessage
	return d.json.Decode(&value)
}

func (d *decoder) application() error {
	var a Application
	err := d.object(func(field string) error {
		switch field {
		case "cluster":
			return d.text(&a.Cluster)
		case "namespace":
			return d.text(&a.Namespace)
		case "name":
			return d.json.Decode(&a.Name)
		case "resources":
			return d.list(func() error { return d.resource(&a.Resources) })
		case "heldResources":
			return d.list(func() error { return d.heldResource(&a.HeldResources) })
		case "conditions":
			return d.list(func() error { return d.condition(&a.Conditions) })
		case "staleSince":
			return d.json.Decode(&a.StaleSince)
		}
		return d.ignore()
	})
	if err != nil {
		return err
	}
	if !a.valid() {
		d.report.Refused++
		return nil
	}
	d.report.Applications = append(d.report.Applications, a)
	return nil
}

func (d *decoder) resource(into *[]Resource) error {
	var r Resource
	if err := d.json.Decode(&r); err != nil {
		return err
	}
	if !r.valid() {
		d.report.Refused++
		return nil
	}
	d.share(&r)
	*into = append(*into, r)
	return nil
}

func (d *decoder) heldResource(into *[]HeldResource) error {
	var r HeldResource
	if err := d.json.Decode(&r); err != nil {
		return err
	}
	if !r.valid() {
		d.report.Refused++
		return nil
	}
	d.share(&r.Resource)
	*into = append(*into, r)
	return nil
}

func (d *decoder) condition(into *[]Condition) error {
	var c Condition
	if err := d.json.Decode(&c); err != nil {
		return err
	}
	if !isToken(c.Type, maxType) {
		d.report.Refused++
		return nil
	}
	c.Type, c.Message = d.shared(c.Type), d.shared(boundMessage(c.Message))
	*into = append(*into, c)
	return nil
}

func (d *decoder) unreadCluster() error {
	var cluster string
	if err := d.text(&cluster); err != nil {
		return err
	}
	d.report.UnreadClusters = append(d.report.UnreadClusters, cluster)
	return nil
}

func (d *decoder) text(into *string) error {
	if err := d.json.Decode(into); err != nil {
		return err
	}
	*into = d.shared(*into)
	return nil
}

// share replaces the texts of a resource that many have by equal ones that are kept already.
func (d *decoder) share(r *Resource) {
	r.APIVersion, r.Kind, r.Namespace = d.shared(r.APIVersion), d.shared(r.Kind), d.shared(r.Namespace)
}

func (d *decoder) shared(s string) string {
	if kept, ok := d.texts[s]; ok {
		return kept
	}
	d.texts[s] = s
	return s
}
