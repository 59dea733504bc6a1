// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package principal

import (
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agent"
)

// example is the directory of this project's manifests for argocd-agent.
const example = "../../../../deploy/examples/agent/"

// installed returns the objects of an installation from testdata/<name>.yaml.
func installed(t *testing.T, name string) Existing {
	t.Helper()
	file, err := os.Open("testdata/" + name + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	existing := Existing{Params: map[string]map[string]string{}}
	decoder := yaml.NewYAMLOrJSONDecoder(file, 4096)
	for {
		o := &unstructured.Unstructured{}
		err := decoder.Decode(&o.Object)
		if errors.Is(err, io.EOF) {
			return existing
		}
		if err != nil {
			t.Fatal(err)
		}
		into := func(typed any) {
			if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, typed, true); err != nil {
				t.Fatalf("%s %s: %v", o.GetKind(), o.GetName(), err)
			}
		}
		switch o.GetKind() {
		case "Service":
			existing.Services = append(existing.Services, corev1.Service{})
			into(&existing.Services[len(existing.Services)-1])
		case "Deployment":
			existing.Deployments = append(existing.Deployments, appsv1.Deployment{})
			into(&existing.Deployments[len(existing.Deployments)-1])
		case "ConfigMap":
			var config corev1.ConfigMap
			into(&config)
			existing.Params[config.Name] = config.Data
		case "Route":
			host, _, _ := unstructured.NestedString(o.Object, "spec", "host")
			service, _, _ := unstructured.NestedString(o.Object, "spec", "to", "name")
			existing.Routes = append(existing.Routes, Route{Host: host, Service: service, Labels: o.GetLabels()})
		default:
			t.Fatalf("%s of no kind that discovery reads", o.GetKind())
		}
	}
}

// asDocumented applies the settings of this project's example, where the installer reads them from.
func asDocumented(t *testing.T, existing Existing) Existing {
	t.Helper()
	content, err := os.ReadFile(example + "settings.yaml")
	var config corev1.ConfigMap
	if err = errors.Join(err, yaml.UnmarshalStrict(content, &config)); err != nil || config.Name != ParamsName {
		t.Fatalf("ConfigMap %s: %v", config.Name, err)
	}
	set := map[setting]string{}
	for _, s := range []setting{authSetting, mappingSetting, listenSetting} {
		set[s] = config.Data[s.key]
	}
	env := existing.Deployments[0].Spec.Template.Spec.Containers[0].Env
	for s, value := range set {
		i := slices.IndexFunc(env, func(e corev1.EnvVar) bool { return e.Name == s.variable })
		switch {
		case i < 0:
		case env[i].ValueFrom != nil:
			existing.Params[env[i].ValueFrom.ConfigMapKeyRef.Name][env[i].ValueFrom.ConfigMapKeyRef.Key] = value
		default:
			env[i].Value = value
		}
	}
	for i := range existing.Services {
		if existing.Services[i].Spec.Type == corev1.ServiceTypeLoadBalancer {
			existing.Services[i].Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{Hostname: "principal.example.com"}}
		}
	}
	return existing
}

func reasons(problems []Problem) (all []string) {
	for _, p := range problems {
		all = append(all, p.Reason)
	}
	slices.Sort(all)
	return all
}

// Find detects every known installation of a principal with the names of its parts. The settings in
// docs/argocd-agent.md solve all problems but those listed in after.
func TestInstallations_areDetected(t *testing.T) {
	const principal, proxy = "argocd-agent-principal", "argocd-agent-resource-proxy"
	cases := map[string]struct {
		installed []string // problems before anything is set
		want      Found
		after     []string // problems that the settings do not solve
	}{
		"kustomize": {
			installed: []string{ReasonAuthNotAnchored, ReasonListensOnLoopback, ReasonMapping, ReasonNotExposed},
			want:      Found{Address: "principal.example.com", Source: SourceLoadBalancer, Service: principal, Deployment: principal, Restartable: true, ProxyService: proxy, Version: "0.9.0"},
		},
		"chart": {
			installed: []string{ReasonAuthNotAnchored, ReasonListensOnLoopback, ReasonMapping, ReasonNotExposed},
			want:      Found{Address: "principal.example.com", Source: SourceLoadBalancer, Service: "hub-" + principal, Deployment: "hub-" + principal, ProxyService: proxy, Version: "0.9.0"},
		},
		"operator": {
			installed: []string{ReasonAuthNotAnchored, ReasonMapping, ReasonNotExposed},
			want:      Found{Service: principal, Deployment: principal, Restartable: true, ProxyService: principal + "-resource-proxy", Version: "0.9.0"},
			after:     []string{ReasonNotExposed},
		},
		"openshift": {
			installed: []string{ReasonAuthNotAnchored, ReasonMapping, ReasonVersionUnknown},
			after:     []string{ReasonVersionUnknown}, // its image has a digest
			want: Found{
				Address: "openshift-gitops-agent-principal-argocd.apps.example.com", Source: SourceRoute, Service: "openshift-gitops-agent-principal",
				Deployment: "openshift-gitops-agent-principal", Restartable: true, ProxyService: "openshift-gitops-agent-principal-resource-proxy",
			},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			desired := Requirements{Namespace: "argocd", Mode: agent.ModeManaged}
			if _, problems := Find(desired, installed(t, name)); !slices.Equal(reasons(problems), c.installed) {
				t.Errorf("as installed: %+v", problems)
			}
			existing := asDocumented(t, installed(t, name))
			found, problems := Find(desired, existing)
			if !slices.Equal(reasons(problems), c.after) {
				t.Errorf("as documented: %+v", problems)
			}
			got := Found{
				Address: found.Address, Source: found.Source, Service: found.Service, Deployment: found.Deployment,
				Restartable: found.Restartable, ProxyService: found.ProxyService, Version: found.Version,
			}
			if got.Address != c.want.Address || got.Source != c.want.Source || got.Service != c.want.Service || got.Deployment != c.want.Deployment ||
				got.Restartable != c.want.Restartable || got.ProxyService != c.want.ProxyService || got.Version != c.want.Version {
				t.Errorf("found %+v, want %+v", got, c.want)
			}
			if found.ProxyPort != 9090 || !slices.Contains(found.ProxyNames, found.ProxyService+".argocd.svc") {
				t.Errorf("the resource proxy is at port %d of %q", found.ProxyPort, found.ProxyNames)
			}
			if found.Address != "" && (found.Port != 443 || !slices.Contains(found.Names, found.Address)) {
				t.Errorf("port %d, certificate for %q", found.Port, found.Names)
			}
		})
	}
}

// A remedy names the source of an installation, such as the ArgoCD or the Helm release. A change of the
// generated objects would be lost at the next apply, which argocd-operator does at once.
func TestInstallations_nameTheirSourceInRemedies(t *testing.T) {
	const argocd, release, config = " in ArgoCD argocd/argocd", " of Helm release argocd/hub", "in ConfigMap argocd/argocd-agent-params, or --"
	cases := map[string]map[string]string{
		"operator": {
			ReasonAuthNotAnchored:   `set spec.argoCDAgent.principal.auth: "` + AuthValue + `"` + argocd,
			ReasonMapping:           "set spec.argoCDAgent.principal.destinationBasedMapping: true" + argocd,
			ReasonNotExposed:        "set spec.argoCDAgent.principal.server.service.type: LoadBalancer" + argocd,
			ReasonNotAllowed:        `set spec.argoCDAgent.principal.namespace.allowedNamespaces: ["team-*", "other"]` + argocd,
			ReasonPingsRefused:      `set spec.argoCDAgent.principal.server.keepAliveMinInterval: "15s"` + argocd,
			ReasonListensOnLoopback: `add {name: ARGOCD_PRINCIPAL_LISTEN_HOST, value: "0.0.0.0"} to spec.argoCDAgent.principal.env of ArgoCD argocd/argocd`,
			ReasonSelfRegistration:  `add {name: ARGOCD_PRINCIPAL_ENABLE_SELF_CLUSTER_REGISTRATION, value: "false"} to spec.argoCDAgent.principal.env of`,
			ReasonNoResourceProxy:   `add {name: ARGOCD_PRINCIPAL_ENABLE_RESOURCE_PROXY, value: "true"} to spec.argoCDAgent.principal.env of`,
			ReasonVersion:           `set spec.argoCDAgent.principal.image: "quay.io/argoprojlabs/argocd-agent:v0.9.0"` + argocd,
		},
		"chart": {
			ReasonAuthNotAnchored:   `set value principal.auth: "` + AuthValue + `"` + release,
			ReasonMapping:           "set value principal.destinationBasedMapping: true" + release,
			ReasonNotExposed:        "set value service.type: LoadBalancer" + release,
			ReasonNotAllowed:        `set value principal.allowedNamespaces: "team-*,other"` + release,
			ReasonPingsRefused:      `set value principal.keepAlive.minInterval: "15s"` + release,
			ReasonListensOnLoopback: `set value principal.listen.host: "0.0.0.0"` + release,
			ReasonSelfRegistration:  "set value principal.additionalArgs: [--enable-self-cluster-registration=false]" + release,
			ReasonNoResourceProxy:   "set value principal.resourceProxy.enabled: true" + release,
			ReasonVersion:           `set value image.tag: "v0.9.0"` + release,
		},
		"kustomize": {
			ReasonAuthNotAnchored:   config + "auth=",
			ReasonMapping:           config + "destination-based-mapping=true",
			ReasonNotExposed:        "set its type to LoadBalancer",
			ReasonNotAllowed:        config + "allowed-namespaces=team-*,other",
			ReasonPingsRefused:      config + "keepalive-min-interval=15s",
			ReasonListensOnLoopback: config + "listen-host=0.0.0.0",
			ReasonSelfRegistration:  "in Deployment argocd/argocd-agent-principal",
			ReasonNoResourceProxy:   config + "enable-resource-proxy=true",
			ReasonVersion:           "install argocd-agent 0.9.x",
		},
	}
	desired := Requirements{Namespace: "argocd", Mode: agent.ModeManaged, AllowedNamespaces: []string{"team-*", "other"}, KeepAlive: 30 * time.Second}
	for name, remedies := range cases {
		existing := installed(t, name)
		container := &existing.Deployments[0].Spec.Template.Spec.Containers[0]
		container.Image = strings.Replace(container.Image, "v0.9.0", "v0.8.1", 1)
		for _, s := range []setting{listenSetting, proxySetting, selfSetting} {
			value := map[setting]string{listenSetting: "127.0.0.1", proxySetting: "false", selfSetting: "true"}[s]
			container.Env = append(container.Env, corev1.EnvVar{Name: s.variable, Value: value})
		}
		_, problems := Find(desired, existing)
		if len(problems) != len(remedies) {
			t.Errorf("%s: %q", name, reasons(problems))
		}
		for _, p := range problems {
			if want := remedies[p.Reason]; want == "" || !strings.Contains(p.Message, want) {
				t.Errorf("%s: %s: %s", name, p.Reason, p.Message)
			}
		}
	}
}

// Settings and defaults belong to one version of argocd-agent. Installations of another version are
// reported. Before the range is widened, these installations must be read again.
func TestInstallations_reportAnUnsupportedVersion(t *testing.T) {
	kustomization, err := os.ReadFile(example + "kustomization.yaml")
	if err != nil || !strings.Contains(string(kustomization), "/principal?ref="+agent.Version+"\n") {
		t.Errorf("the example installs another version: %v", err)
	}
	for _, name := range []string{"kustomize", "chart", "operator"} {
		existing := asDocumented(t, installed(t, name))
		image := &existing.Deployments[0].Spec.Template.Spec.Containers[0].Image
		released, tag, _ := strings.Cut(*image, ":")
		if tag != agent.Version || !strings.HasPrefix(strings.TrimPrefix(tag, "v"), supported) {
			t.Errorf("%s is of version %s, the settings are those of %s, and %sx is supported: read argocd-agent's installation again", name, tag, agent.Version, supported)
		}
		// The chart of v0.9.0 runs v0.8.1 by default.
		for _, other := range []string{"v0.8.1", "v0.10.0", "v1.0.0"} {
			*image = released + ":" + other
			if _, problems := Find(Requirements{Namespace: "argocd", Address: "principal.example.com"}, existing); !slices.Equal(reasons(problems), []string{ReasonVersion}) {
				t.Errorf("%s of version %s: %+v", name, other, problems)
			}
		}
	}
}

// gRPC closes the connection of a client that pings more often than the server allows. By default, the
// principal allows one ping in five minutes.
func TestFind_refusesPingsThatThePrincipalRejects(t *testing.T) {
	for value, least := range map[string]string{"0": "5m0s", "": "5m0s", "30s": "30s", "20s": "", "nonsense": "5m0s"} {
		existing := asDocumented(t, installed(t, "kustomize"))
		existing.Params[ParamsName]["principal.keep-alive.min-interval"] = value
		_, problems := Find(Requirements{Namespace: "argocd", KeepAlive: 30 * time.Second}, existing)
		switch {
		case least == "" && len(problems) == 0:
		case least != "" && len(problems) == 1 && problems[0].Reason == ReasonPingsRefused && !problems[0].Warning &&
			strings.Contains(problems[0].Message, "less than "+least) && strings.Contains(problems[0].Message, `principal.keep-alive.min-interval: "15s"`):
		default:
			t.Errorf("min-interval %q: %+v", value, problems)
		}
		if _, problems := Find(Requirements{Namespace: "argocd"}, existing); len(problems) > 0 {
			t.Errorf("min-interval %q and no pings: %+v", value, problems)
		}
	}
}
