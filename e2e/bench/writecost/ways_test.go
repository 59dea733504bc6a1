// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package writecost

import (
	"context"
	"fmt"
	"net/http"

	"open-cluster-management.io/multicluster-integrations/e2e/bench/internal/simulate"
)

// way is a way to write an object.
type way struct {
	name string
	// objects names the objects that the way writes. Ways that change the stored form of an object use
	// separate ones.
	objects string
	// to returns the request for an object and a new revision.
	to func(o *object, revision string) call
	// watchers is the number of parallel watches of the written objects.
	watchers int
	watched  call
}

// ours is the mirror's patch after a cluster has reported another revision of an Application.
func ours(o *object, revision string) call {
	return call{method: http.MethodPatch, path: o.path + mirror, contentType: mergePatch, accept: metadataOnly, body: encode(fields{
		"metadata": fields{"resourceVersion": o.version},
		"status":   fields{"sync": fields{"revision": revision}},
	})}
}

// with returns [ours] with a change.
func with(change func(c *call, o *object, revision string)) func(*object, string) call {
	return func(o *object, revision string) call {
		c := ours(o, revision)
		change(&c, o, revision)
		return c
	}
}

func whole(revision string) fields { return decode(simulate.ApplicationStatus(revision)) }

func below(suffix string) func(*object, string) call {
	return with(func(c *call, o *object, _ string) { c.path = o.path + suffix + mirror })
}

// agentPatch is the patch of the work agent: the changed members of the status.
func agentPatch(o *object, revision string) call {
	name := o.path[len(simulate.WorksIn(cluster))+1:]
	all := decode(simulate.WorkStatus("set00", name, 1, simulate.Healthy(revision)))
	status := all["status"].(fields)
	delete(status, "conditions")
	all["metadata"] = fields{"resourceVersion": o.version}
	return call{method: http.MethodPatch, path: o.path + "/status" + agent, contentType: mergePatch, body: encode(all)}
}

var (
	watchJSON     = call{method: http.MethodGet, path: applications(argoCD), accept: jsonType}
	watchMetadata = call{method: http.MethodGet, path: applications(argoCD), accept: "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"}
	watchWorks    = call{method: http.MethodGet, path: simulate.Works, accept: jsonType}
)

const (
	plain = "application"
	// ownWork is a ManifestWork like deliver's. bareWork has no feedback rules.
	ownWork, bareWork = "work", "work without rules"
)

// unit is the way to which the others are compared.
const unit = "mirror's patch"

var ways = []way{
	{name: unit, objects: plain, to: ours},
	{name: "mirror's patch again", objects: plain, to: ours},
	{name: "answered whole", objects: plain, to: with(func(c *call, _ *object, _ string) { c.accept = jsonType })},
	{name: "no resourceVersion", objects: plain, to: with(func(c *call, _ *object, revision string) {
		c.body = encode(fields{"status": fields{"sync": fields{"revision": revision}}})
	})},
	{name: "fieldValidation=Ignore", objects: plain, to: with(func(c *call, _ *object, _ string) { c.path += "&fieldValidation=Ignore" })},
	{name: "whole status", objects: plain, to: with(func(c *call, o *object, revision string) {
		all := whole(revision)
		all["metadata"] = fields{"resourceVersion": o.version}
		c.body = encode(all)
	})},
	{name: "all fields change", objects: plain, to: with(func(c *call, o *object, revision string) {
		status := whole(revision)["status"].(fields)
		status["health"] = fields{"status": "Degraded", "message": revision}
		operation := status["operationState"].(fields)
		operation["message"], operation["startedAt"] = revision, fmt.Sprintf("2026-01-02T03:%02d:%02dZ", o.writes/60%60, o.writes%60)
		c.body = encode(fields{"metadata": fields{"resourceVersion": o.version}, "status": status})
	})},
	{name: "JSON patch", objects: plain, to: with(func(c *call, o *object, revision string) {
		c.contentType = jsonPatch
		c.body = encode([]fields{
			{"op": "replace", "path": "/metadata/resourceVersion", "value": o.version},
			{"op": "replace", "path": "/status/sync/revision", "value": revision},
		})
	})},
	{name: "update (PUT)", objects: "kept", to: with(func(c *call, o *object, revision string) {
		c.method, c.contentType, c.accept = http.MethodPut, jsonType, jsonType
		c.body = encode(changed(o.body, revision))
	})},
	{name: "server-side apply", objects: "applied", to: with(func(c *call, o *object, revision string) {
		all := whole(revision)
		all["apiVersion"], all["kind"] = argoCD+"/v1alpha1", "Application"
		c.path, c.contentType = o.path+mirror+"-applied&force=true", applyPatch
		c.body = encode(all)
	})},
	{name: "nothing changes", objects: "silent", to: with(func(c *call, _ *object, _ string) {
		c.body = encode(fields{"status": fields{"sync": fields{"revision": simulate.Revision(0)}}})
	})},
	{name: "only an annotation", objects: plain, to: with(func(c *call, o *object, revision string) {
		c.body = encode(fields{"metadata": fields{"resourceVersion": o.version, "annotations": fields{"apps.open-cluster-management.io/seen": revision}}})
	})},
	{name: "managedFields reset before", objects: "untracked", to: ours},
	{name: "managedFields reset in each", objects: "untracked", to: with(func(c *call, o *object, revision string) {
		c.body = encode(fields{"metadata": fields{"resourceVersion": o.version, "managedFields": []fields{{}}}, "status": fields{"sync": fields{"revision": revision}}})
	})},
	{name: "ten managers", objects: "crowded", to: ours},
	{name: "spec of 10 KB more", objects: "large", to: ours},
	{name: "CRD: all open", objects: "open." + argoCD, to: ours},
	{name: "CRD: spec open", objects: "openspec." + argoCD, to: ours},
	{name: "CRD: status open", objects: "openstatus." + argoCD, to: ours},
	{name: "CRD: status subresource", objects: "sub." + argoCD, to: below("/status")},
	{name: "1 watcher", objects: plain, to: ours, watchers: 1, watched: watchJSON},
	{name: "3 watchers", objects: plain, to: ours, watchers: 3, watched: watchJSON},
	{name: "3 watchers of metadata", objects: plain, to: ours, watchers: 3, watched: watchMetadata},
	{name: "ConfigMap of that size", objects: "configmap", to: func(o *object, revision string) call {
		return call{method: http.MethodPatch, path: o.path + mirror, contentType: mergePatch, accept: metadataOnly, body: encode(fields{"data": fields{"revision": revision}})}
	}},
	{name: "agent's patch of the work", objects: ownWork, to: agentPatch},
	{name: "agent's, 3 watchers", objects: ownWork, to: agentPatch, watchers: 3, watched: watchWorks},
	{name: "agent's, no feedback rules", objects: bareWork, to: agentPatch},
	{name: "agent's, answered metadata", objects: ownWork, to: func(o *object, revision string) call {
		c := agentPatch(o, revision)
		c.accept = metadataOnly
		return c
	}},
}

func changed(body []byte, revision string) fields {
	app := decode(body)
	app["status"].(fields)["sync"].(fields)["revision"] = revision
	return app
}

// prepare creates the n-th object of a kind of objects.
func (s *server) prepare(ctx context.Context, objects string, n int) (*object, error) {
	name := fmt.Sprintf("%04d", n)
	switch objects {
	case ownWork:
		return s.work(ctx, "full-"+name, feedback)
	case bareWork:
		return s.work(ctx, "bare-"+name, nil)
	case "configmap":
		return s.configMap(ctx, name)
	case plain, "kept", "applied", "silent", "untracked", "crowded", "large":
		o, err := s.application(ctx, argoCD, "", objects+"-"+name)
		if err != nil {
			return nil, err
		}
		return o, s.dress(ctx, o, objects)
	case "sub." + argoCD:
		return s.application(ctx, objects, "/status", name)
	default:
		return s.application(ctx, objects, "", name)
	}
}

// dress changes an Application for the way that writes it.
func (s *server) dress(ctx context.Context, o *object, as string) error {
	patch := func(query string, body fields) call {
		return call{method: http.MethodPatch, path: o.path + query, contentType: mergePatch, body: encode(body)}
	}
	var calls []call
	switch as {
	case "untracked":
		calls = append(calls, patch(mirror, fields{"metadata": fields{"managedFields": []fields{{}}}}))
	case "crowded":
		for i := range 7 {
			calls = append(calls, patch(fmt.Sprintf("?fieldManager=manager-%d", i), fields{"metadata": fields{"annotations": fields{fmt.Sprintf("example.com/a%d", i): "1"}, "labels": fields{fmt.Sprintf("example.com/l%d", i): "1"}}}))
		}
	case "large":
		text := make([]byte, 10<<10)
		for i := range text {
			text[i] = "key: value\n"[i%11]
		}
		calls = append(calls, patch(creator, fields{"spec": fields{"source": fields{"helm": fields{"values": string(text)}}}}))
	}
	return s.perform(ctx, o, append(calls, patch(mirror, fields{})))
}

func (s *server) configMap(ctx context.Context, name string) (*object, error) {
	path := "/api/v1/namespaces/" + simulate.Namespace + "/configmaps"
	o := &object{path: path + "/" + name}
	data := fields{"revision": simulate.Revision(0), "spec": string(simulate.Application("set00", "0f7b1b1e-0000-4000-8000-000000000000", name))}
	return o, s.perform(ctx, o, []call{{method: http.MethodPost, path: path + creator, contentType: jsonType, body: encode(fields{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": fields{"name": name, "namespace": simulate.Namespace}, "data": data,
	})}})
}
