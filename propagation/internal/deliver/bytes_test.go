// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package deliver

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"open-cluster-management.io/multicluster-integrations/propagation/internal/payload"
	"open-cluster-management.io/multicluster-integrations/propagation/internal/policy"
	"open-cluster-management.io/multicluster-integrations/shared/argocd"
	"open-cluster-management.io/multicluster-integrations/shared/contract"
	"open-cluster-management.io/multicluster-integrations/shared/manifestcache"
	"open-cluster-management.io/multicluster-integrations/shared/testkit"
)

// valuesOf returns a spec with Helm values.
func valuesOf(values string) json.RawMessage {
	return json.RawMessage(`{"project":"default","source":{"repoURL":"https://git.example.com/apps.git","path":"chart","targetRevision":"main","helm":{"valuesObject":` + values + `}},"destination":{"namespace":"guestbook"}}`)
}

// awkward has values that some JSON encoders change.
var awkward = map[string]struct{ reason, values string }{
	"null":     {"a null takes a default of the chart away", `{"livenessProbe":null}`},
	"deep":     {"nulls in objects in lists, and in lists", `{"a":{"b":null,"c":[null,{"d":null},[null]]}}`},
	"numbers":  {"numbers past what a float holds, and at their ends", `{"big":9223372036854775807,"huge":123456789012345678901234567890,"e":1e30,"f":1.5,"zero":0}`},
	"empty":    {"empty is not absent", `{"list":[],"map":{},"nested":{"a":[{}]},"string":""}`},
	"escaping": {"characters that encoders escape", `{"s":"<a> & \u2028 \"é\" ~1 /x"}`},
	"none":     {"no value at all", `{}`},
	"plain":    {"what nothing is special about", `{"a":1}`},
}

// sentSpec returns the spec of the Application in its work, as the API server stores it.
func sentSpec(t *testing.T, app *argocd.Application) string {
	t.Helper()
	for _, work := range works(t, app) {
		if manifests := work.Spec.Workload.Manifests; len(manifests) > 0 {
			return string(decode[argocd.Application](t, manifests[len(manifests)-1].Raw).Spec)
		}
	}
	return ""
}

func sends(t *testing.T, app *argocd.Application, want, what string) {
	t.Helper()
	testkit.Eventually(t, what, func() error {
		if got := sentSpec(t, app); got != want {
			return fmt.Errorf("delivered is\n%s, a new Application would get\n%s", got, want)
		}
		return nil
	})
}

// An edited Application delivers the same spec as a new Application, whatever sequence of changes led to it.
func TestDelivery_isTheSameAfterAnyEdits(t *testing.T) {
	first := start(t)
	p := newPlace(t)
	wanted := map[string]string{}
	for name, c := range awkward {
		app := p.deploy("new-"+name, func(a *argocd.Application) { a.Spec = valuesOf(c.values) })
		delivered(t, app, p.cluster)
		wanted[name] = sentSpec(t, app)
		hubs := &argocd.Application{}
		if err := hub.client.Get(context.Background(), client.ObjectKeyFromObject(app), hubs); err != nil {
			t.Fatal(err)
		}
		if got, want := helmValues(t, []byte(wanted[name])), helmValues(t, hubs.Spec); got != want {
			t.Fatalf("%s: %s: a new Application gets %s, on the hub is %s", name, c.reason, got, want)
		}
	}
	set := func(app *argocd.Application, name string) {
		edit(t, app, func(a *argocd.Application) { a.Spec = valuesOf(awkward[name].values) })
		sends(t, app, wanted[name], "the edit to "+name)
	}
	for name, c := range awkward {
		t.Run(name, func(t *testing.T) {
			app := p.deploy("edited-"+name, func(a *argocd.Application) { a.Spec = valuesOf(awkward["plain"].values) })
			m := deliveredTo(t, app, p.cluster)
			set(app, name)
			set(app, "plain")
			set(app, name)
			m.apply()
			m.report()

			ask(t, app)
			sent(t, app, m)
			sends(t, app, wanted[name], c.reason+", with an operation")
			m.begin()
			m.end()
			m.report()
			settledAgain(t, app, m)
			sends(t, app, wanted[name], c.reason+", after an operation")

			edit(t, app, func(a *argocd.Application) { a.Annotations[argocd.RefreshAnnotation] = "normal" })
			testkit.Eventually(t, "the refresh", func() error { return carries(t, app, argocd.RefreshAnnotation) })
			sends(t, app, wanted[name], c.reason+", with a refresh")
			compared(t, app, m)
			sends(t, app, wanted[name], c.reason+", after a refresh")

			foreignPatch(t, app)
			sends(t, app, wanted[name], c.reason+", after the patch of another writer")
			edit(t, app, func(a *argocd.Application) { a.Labels["new"] = "label" })
			testkit.Eventually(t, "the label", func() error { return carries(t, app, `"new":"label"`) })
			sends(t, app, wanted[name], c.reason+", after a new label")
		})
	}
	first.stop()
	second := start(t)
	last := p.deploy("last")
	delivered(t, last, p.cluster)
	if got := second.requests.in(p.namespace, p.cluster); len(got) != 1 {
		t.Errorf("the restart made %d write requests, want the one for the new Application: %v", len(got), got)
	}
	for name := range awkward {
		app := p.app("edited-" + name)
		if got := sentSpec(t, app); got != wanted[name] {
			t.Errorf("%s: after a restart it is %s", name, got)
		}
	}
}

// The golden Applications deliver the same manifests, whether they are new or the result of an edit.
func TestDelivery_isTheSameForGoldenApplications(t *testing.T) {
	p := newPlace(t)
	settings := func(o *Options) { o.ArgoCDNamespace = p.namespace }
	first := start(t, settings)
	applying(t, p.cluster) // one of them moves to another namespace there
	for _, file := range goldenHubs(t) {
		golden := readGolden(t, file)
		become := func(a *argocd.Application) {
			a.Labels, a.Annotations, a.Finalizers = maps.Clone(golden.Labels), maps.Clone(golden.Annotations), golden.Finalizers
			a.Labels[contract.PullLabel], a.Annotations[contract.ClusterAnnotation] = "true", p.cluster
			a.Spec, a.Operation = golden.Spec, golden.Operation
		}
		name := strings.TrimSuffix(filepath.Base(file), ".hub.json")
		created, edited := p.deploy(name+"-created", become), p.deploy(name+"-edited")
		delivered(t, edited, p.cluster)
		edit(t, edited, become)
		testkit.Eventually(t, name+" to be the same on update", func() error {
			one, other := sentManifests(t, created), sentManifests(t, edited)
			if one == "" || one != other || strings.Contains(one, `"operation":`) != (golden.Operation != nil) {
				return fmt.Errorf("created:\n%s\nedited:\n%s", one, other)
			}
			return nil
		})
		if golden.Operation != nil {
			continue // the pending operation delays further changes
		}
		foreignPatch(t, edited)
		testkit.Eventually(t, name+" to be the same after the patch of another writer", func() error {
			if one, other := sentManifests(t, created), sentManifests(t, edited); one != other {
				return fmt.Errorf("created:\n%s\nedited:\n%s", one, other)
			}
			return nil
		})
	}
	first.stop()
	second := start(t, settings)
	delivered(t, p.deploy("last"), p.cluster)
	if got := second.requests.in(p.namespace, p.cluster); len(got) != 1 {
		t.Errorf("the restart made %d write requests, want the one for the new Application: %v", len(got), got)
	}
}

// sentManifests returns the manifests of an Application's works, without the Application's name and request.
func sentManifests(t *testing.T, app *argocd.Application) string {
	t.Helper()
	var all strings.Builder
	for _, work := range works(t, app) {
		for _, manifest := range work.Spec.Workload.Manifests {
			all.Write(manifest.Raw)
		}
	}
	request := regexp.MustCompile(`("` + contract.RequestAnnotation + `"):"[^"]*"`)
	return strings.ReplaceAll(request.ReplaceAllString(all.String(), "$1"), app.Name, "NAME")
}

// foreignPatch writes the work's own manifests as a merge patch, with an edit of the Application. A merge
// patch drops nulls.
func foreignPatch(t *testing.T, app *argocd.Application) {
	t.Helper()
	work := &works(t, app)[0]
	last := &work.Spec.Workload.Manifests[len(work.Spec.Workload.Manifests)-1]
	last.Raw = []byte(strings.Replace(string(last.Raw), `"spec":{`, `"spec":{"revisionHistoryLimit":99,`, 1))
	raw, err := json.Marshal(map[string]any{"spec": map[string]any{"workload": work.Spec.Workload}})
	if err != nil {
		t.Fatal(err)
	}
	if err := hub.client.Patch(context.Background(), &workv1.ManifestWork{ObjectMeta: work.ObjectMeta}, client.RawPatch(types.MergePatchType, raw)); err != nil {
		t.Fatal(err)
	}
}

func helmValues(t *testing.T, spec []byte) string {
	t.Helper()
	var s struct {
		Source struct {
			Helm struct {
				ValuesObject json.RawMessage `json:"valuesObject"`
			} `json:"helm"`
		} `json:"source"`
	}
	if err := json.Unmarshal(spec, &s); err != nil {
		t.Fatal(err)
	}
	return string(s.Source.Helm.ValuesObject)
}

// goldenHubs returns the golden Applications of package payload.
func goldenHubs(t *testing.T) []string {
	t.Helper()
	hubs, err := filepath.Glob(filepath.Join("..", "payload", "testdata", "golden", "*.hub.json"))
	if err != nil || len(hubs) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	return hubs
}

func readGolden(t *testing.T, path string) *argocd.Application {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return decode[argocd.Application](t, raw)
}

// older behaves like an API server with a CRD without ignoreFields, and drops that field.
func older(c client.Client) client.Client {
	unknown := regexp.MustCompile(`,"ignoreFields":\[\{[^{}]*\}\]`)
	return interceptor.NewClient(c.(client.WithWatch), interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if work, ok := o.(*workv1.ManifestWork); ok {
				for _, config := range work.Spec.ManifestConfigs {
					if config.UpdateStrategy.ServerSideApply != nil {
						config.UpdateStrategy.ServerSideApply.IgnoreFields = nil
					}
				}
			}
			return c.Create(ctx, o, opts...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
			raw, err := patch.Data(o)
			if err != nil {
				return err
			}
			return c.Patch(ctx, o, client.RawPatch(patch.Type(), unknown.ReplaceAll(raw, nil)), opts...)
		},
	})
}

// If the API server stores a work in another form, propagation does not write the work again, also after a
// restart. It still corrects an edit of another writer.
func TestDelivery_acceptsAnotherStoredForm(t *testing.T) {
	first := startWith(t, older)
	p := newPlace(t)
	created, updated := p.deploy("created"), p.deploy("updated")
	delivered(t, created, p.cluster)
	delivered(t, updated, p.cluster)
	edit(t, updated, func(a *argocd.Application) { a.Labels["new"] = "label" })
	testkit.Eventually(t, "the edit", func() error { return carries(t, updated, `"new":"label"`) })
	noted := func(app *argocd.Application) error {
		work := works(t, app)[0]
		if len(work.Spec.ManifestConfigs[1].UpdateStrategy.ServerSideApply.IgnoreFields) > 0 {
			t.Fatal("the API server knows the field")
		}
		hash, err := payload.SpecHash(&work.Spec)
		if err != nil {
			t.Fatal(err)
		}
		if note := work.Annotations[contract.StoredSpecAnnotation]; !strings.HasSuffix(note, "/"+hash) {
			return fmt.Errorf("the note is %q, the stored spec %s", note, hash)
		}
		return nil
	}
	for _, app := range []*argocd.Application{created, updated} {
		testkit.Eventually(t, "the note on the work of "+app.Name, func() error { return noted(app) })
	}
	first.stop()
	second := startWith(t, older)
	delivered(t, p.deploy("last"), p.cluster)
	for _, request := range second.requests.in(p.namespace, p.cluster) {
		if strings.Contains(request, "created") || strings.Contains(request, "updated") {
			t.Errorf("the restart made the request %s", request)
		}
	}
	edit(t, &works(t, updated)[0], func(w *workv1.ManifestWork) {
		last := &w.Spec.Workload.Manifests[len(w.Spec.Workload.Manifests)-1]
		last.Raw = []byte(strings.Replace(string(last.Raw), `"path":"guestbook"`, `"path":"foreign"`, 1))
	})
	testkit.Eventually(t, "the repair", func() error {
		if err := carries(t, updated, `"path":"guestbook"`); err != nil {
			return err
		}
		return noted(updated)
	})
}

// propagation delivers large specs and their changes, even if its cache has no room for them.
func TestDelivery_includesSpecsThatTheCacheLeavesOut(t *testing.T) {
	const applications, size = 36, 480 << 10 // 17 MiB
	p := newPlace(t)
	running := start(t)
	values := func(text string) func(*argocd.Application) {
		return func(a *argocd.Application) {
			a.Spec = fmt.Appendf(nil, `{"project":"default","source":{"repoURL":"https://git.example.com/apps.git","path":"guestbook","helm":{"values":%q}},"destination":{"namespace":"guestbook"}}`,
				text+strings.Repeat("x", size))
		}
	}
	apps := make([]*argocd.Application, 0, applications)
	for i := range applications {
		apps = append(apps, p.deploy(fmt.Sprint("large-", i), values(fmt.Sprint("first-", i))))
	}
	has := func(app *argocd.Application, text string) {
		t.Helper()
		testkit.Eventually(t, app.Name+" to be delivered", func() error {
			work := &workv1.ManifestWork{}
			if err := hub.client.Get(t.Context(), client.ObjectKey{Namespace: p.cluster, Name: payload.WorkNames(app)[0]}, work); err != nil {
				return err
			}
			var spec struct {
				Source struct{ Helm struct{ Values string } }
			}
			if err := json.Unmarshal(content(t, work).Spec, &spec); err != nil || !strings.HasPrefix(spec.Source.Helm.Values, text+"x") || len(spec.Source.Helm.Values) != size+len(text) {
				return fmt.Errorf("it has %d bytes of values, which begin with %.20q: %w", len(spec.Source.Helm.Values), spec.Source.Helm.Values, err)
			}
			return nil
		})
	}
	var left []int
	for i, app := range apps {
		has(app, fmt.Sprint("first-", i))
		cached := &argocd.Application{}
		if err := running.cached.cache.Get(t.Context(), client.ObjectKeyFromObject(app), cached); err != nil {
			t.Fatal(err)
		}
		if manifestcache.Omitted(cached.Spec) > 0 {
			left = append(left, i)
		}
	}
	if counted := sum(t, "propagation_specs_omitted"); len(left) == 0 || int(counted) < len(left) {
		t.Fatalf("the specs of %d Applications are left out, %v are counted", len(left), counted)
	}
	for _, i := range left {
		edit(t, apps[i], values(fmt.Sprint("other-", i)))
		has(apps[i], fmt.Sprint("other-", i))
	}
	for _, app := range apps {
		remove(t, app)
	}
	testkit.Eventually(t, "what is gone to be counted no more", func() error {
		if n := sum(t, "propagation_specs_omitted"); n > 0 {
			return fmt.Errorf("%v are", n)
		}
		return nil
	})
}

// Of an Application with large metadata, the cache keeps little. propagation delivers all of it, and every change.
// It keeps the conditions and finalizers of other controllers.
func TestDelivery_includesApplicationsThatTheCacheReduces(t *testing.T) {
	const note, theirs, guard = "example.com/note", "SyncError", "hub.example.com/guard"
	large := func(text string) func(*argocd.Application) {
		return func(a *argocd.Application) { a.Annotations[note] = text + strings.Repeat("x", 40<<10) }
	}
	running := start(t)
	p := newPlace(t)
	app := p.deploy("guestbook", large("first"), func(a *argocd.Application) {
		a.Finalizers = []string{argocd.ResourcesFinalizer, guard}
		a.Status = json.RawMessage(`{"conditions":[{"message":"theirs","type":"` + theirs + `"}]}`)
	})
	has := func(text string) {
		t.Helper()
		testkit.Eventually(t, "the annotation", func() error {
			got := ""
			for _, work := range works(t, app) {
				got = content(t, &work).Annotations[note]
			}
			if got != text+strings.Repeat("x", 40<<10) {
				return fmt.Errorf("it has %d bytes, which begin with %.20q", len(got), got)
			}
			return nil
		})
	}
	has("first")
	cached := &argocd.Application{}
	if err := running.cached.cache.Get(t.Context(), client.ObjectKeyFromObject(app), cached); err != nil || !manifestcache.Reduced(cached) {
		t.Fatalf("the cache keeps %d annotations, %v", len(cached.Annotations), err)
	}
	sameFacts(t, running, client.ObjectKeyFromObject(app))
	edit(t, app, large("other"))
	has("other")
	edit(t, app, func(a *argocd.Application) { a.Annotations[contract.ManagementPolicyAnnotation] = "x" })
	awaitCondition(t, app, policy.ErrorCondition, contract.ManagementPolicyAnnotation)
	awaitCondition(t, app, theirs, "theirs")
	edit(t, app, func(a *argocd.Application) { delete(a.Annotations, contract.ManagementPolicyAnnotation) })
	awaitCondition(t, app, policy.ErrorCondition, "")
	awaitCondition(t, app, theirs, "theirs")
	remove(t, app)
	withdrawn(t, app)
	testkit.Eventually(t, "the release", func() error {
		if err := hub.client.Get(t.Context(), client.ObjectKeyFromObject(app), app); err != nil {
			return err
		}
		if !slices.Equal(app.Finalizers, []string{guard}) {
			return fmt.Errorf("finalizers %v", app.Finalizers)
		}
		return nil
	})
	edit(t, app, func(a *argocd.Application) { a.Finalizers = nil })
}
