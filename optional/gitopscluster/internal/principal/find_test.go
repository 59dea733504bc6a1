// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package principal

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agent"
)

func service(name string, change ...func(*corev1.Service)) corev1.Service {
	s := corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.ServiceSpec{
		Type: corev1.ServiceTypeClusterIP, Ports: []corev1.ServicePort{{Name: "https", Port: 443}},
	}}
	for _, f := range change {
		f(&s)
	}
	return s
}

func balanced(ingresses ...corev1.LoadBalancerIngress) func(*corev1.Service) {
	return func(s *corev1.Service) {
		s.Spec.Type, s.Status.LoadBalancer.Ingress = corev1.ServiceTypeLoadBalancer, ingresses
	}
}

func nodePort(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeNodePort }

func ports(ports ...corev1.ServicePort) func(*corev1.Service) {
	return func(s *corev1.Service) { s.Spec.Ports = ports }
}

// deployment returns a principal as our documentation describes it.
func deployment(change ...func(*appsv1.Deployment)) appsv1.Deployment {
	d := appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "argocd-agent-principal", Generation: 2}}
	d.Spec.Template.Spec.Containers = []corev1.Container{{
		Name: "argocd-agent-principal", Image: "quay.io/argoprojlabs/argocd-agent:v0.9.0",
		Args: []string{"principal", "--auth=" + AuthValue, "--destination-based-mapping"},
	}}
	d.Status = appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 1, UpdatedReplicas: 1, AvailableReplicas: 1}
	for _, f := range change {
		f(&d)
	}
	return d
}

const name = "argocd-agent-principal"

func TestFind_detectsTheAddress(t *testing.T) {
	hostname, ip := corev1.LoadBalancerIngress{Hostname: "lb.example.com"}, corev1.LoadBalancerIngress{IP: "192.0.2.7"}
	route := Route{Host: "route.example.com", Service: name, Labels: map[string]string{partOfLabel: partOfAgent}}
	cases := map[string]struct {
		reason   string
		wanted   Requirements
		services []corev1.Service
		routes   []Route
		address  string
		port     int32
		source   string
		problem  string
		says     string
	}{
		"host name":       {reason: "a host name goes before an address", services: []corev1.Service{service(name, balanced(ip, hostname))}, address: "lb.example.com", port: 443, source: SourceLoadBalancer},
		"address":         {reason: "an address will do", services: []corev1.Service{service(name, balanced(ip))}, address: "192.0.2.7", port: 443, source: SourceLoadBalancer},
		"route":           {reason: "a Route goes before a load balancer", services: []corev1.Service{service(name, balanced(ip))}, routes: []Route{route}, address: "route.example.com", port: 443, source: SourceRoute},
		"route elsewhere": {reason: "a Route of another Service is not the principal's", services: []corev1.Service{service(name, balanced(ip))}, routes: []Route{{Host: "x.example.com", Service: "x", Labels: route.Labels}}, address: "192.0.2.7", port: 443, source: SourceLoadBalancer},
		"spec":            {reason: "what the spec says goes before everything", wanted: Requirements{Address: "spec.example.com"}, services: []corev1.Service{service(name, balanced(ip))}, routes: []Route{route}, address: "spec.example.com", port: 443, source: SourceSpec},
		"spec with port":  {reason: "its port as well", wanted: Requirements{Address: "spec.example.com", Port: "30443"}, services: []corev1.Service{service(name)}, address: "spec.example.com", port: 30443, source: SourceSpec},
		"port alone":      {reason: "only the port is fixed", wanted: Requirements{Port: "8443"}, services: []corev1.Service{service(name, balanced(ip))}, address: "192.0.2.7", port: 8443, source: SourceLoadBalancer},
		"elsewhere":       {reason: "the principal may be outside", wanted: Requirements{Address: "203.0.113.1"}, address: "203.0.113.1", port: 443, source: SourceSpec},
		"named port":      {reason: "https goes before 443", services: []corev1.Service{service(name, balanced(ip), ports(corev1.ServicePort{Name: "x", Port: 443}, corev1.ServicePort{Name: "https", Port: 9443}))}, address: "192.0.2.7", port: 9443, source: SourceLoadBalancer},
		"8443":            {reason: "8443 goes before others", services: []corev1.Service{service(name, balanced(ip), ports(corev1.ServicePort{Name: "x", Port: 1}, corev1.ServicePort{Name: "grpc", Port: 8443}))}, address: "192.0.2.7", port: 8443, source: SourceLoadBalancer},
		"only port":       {reason: "the only one it is", services: []corev1.Service{service(name, balanced(ip), ports(corev1.ServicePort{Name: "grpc", Port: 7}))}, address: "192.0.2.7", port: 7, source: SourceLoadBalancer},
		"OpenShift":       {reason: "the operator's name", services: []corev1.Service{service("x-agent-principal"), service("openshift-gitops-agent-principal", balanced(ip))}, address: "192.0.2.7", port: 443, source: SourceLoadBalancer},
		"instance":        {reason: "the only one that ends like it", services: []corev1.Service{service("other"), service("x-agent-principal", balanced(ip))}, address: "192.0.2.7", port: 443, source: SourceLoadBalancer},

		"node port": {reason: "with the address of a node its port, too", wanted: Requirements{Address: "192.0.2.9"}, services: []corev1.Service{service(name, nodePort, ports(corev1.ServicePort{Name: "https", Port: 443, NodePort: 31443}))}, address: "192.0.2.9", port: 31443, source: SourceSpec},
		"named":     {reason: "the spec names the Service", wanted: Requirements{Service: "mine"}, services: []corev1.Service{service(name, balanced(hostname)), service("mine", balanced(ip))}, address: "192.0.2.7", port: 443, source: SourceLoadBalancer},

		"wrong name":   {reason: "what is named has to be there", wanted: Requirements{Service: "mine"}, services: []corev1.Service{service(name, balanced(ip))}, problem: ReasonNotFound, says: "there is no Service mine"},
		"NodePort":     {reason: "no node's address is known", services: []corev1.Service{service(name, nodePort)}, problem: ReasonNotExposed, says: "address of a node"},
		"no Service":   {reason: "there is none", problem: ReasonNotFound, says: "install argocd-agent's principal there, or set spec.address"},
		"two":          {reason: "it is not clear which", services: []corev1.Service{service("x-agent-principal", balanced(ip)), service("y-agent-principal", balanced(ip))}, problem: ReasonNotFound, says: "more than one"},
		"ClusterIP":    {reason: "nobody outside reaches it", services: []corev1.Service{service(name)}, problem: ReasonNotExposed, says: "Service argocd/argocd-agent-principal of type ClusterIP"},
		"no ingress":   {reason: "the load balancer is on its way", services: []corev1.Service{service(name, balanced())}, problem: ReasonNotExposed, says: "or set spec.address"},
		"which port":   {reason: "it is not clear which", services: []corev1.Service{service(name, balanced(ip), ports(corev1.ServicePort{Port: 1}, corev1.ServicePort{Port: 2}))}, problem: ReasonNotExposed, says: "name its port https"},
		"no port":      {reason: "a word is no port", wanted: Requirements{Port: "https"}, services: []corev1.Service{service(name, balanced(ip))}, problem: ReasonAddress, says: "from 1 to 65535"},
		"port zero":    {reason: "nor is 0", wanted: Requirements{Port: "0"}, services: []corev1.Service{service(name, balanced(ip))}, problem: ReasonAddress, says: "from 1 to 65535"},
		"URL":          {reason: "a URL is no host", wanted: Requirements{Address: "https://principal.example.com:443"}, problem: ReasonAddress, says: "without scheme and port"},
		"long address": {reason: "messages about it are bounded", wanted: Requirements{Address: strings.Repeat("a", 10_000)}, problem: ReasonAddress, says: "aaa..."},
	}
	for title, c := range cases {
		t.Run(title, func(t *testing.T) {
			c.wanted.Namespace, c.wanted.Field = "argocd", "spec.address"
			found, problems := Find(c.wanted, Existing{Services: c.services, Routes: c.routes, Deployments: []appsv1.Deployment{deployment()}})
			if found.Address != c.address || found.Port != c.port || found.Source != c.source {
				t.Errorf("%s: %s:%d from %s", c.reason, found.Address, found.Port, found.Source)
			}
			switch {
			case c.problem == "" && len(problems) > 0, c.problem != "" && (len(problems) != 1 || problems[0].Warning || problems[0].Reason != c.problem || !strings.Contains(problems[0].Message, c.says) || len(problems[0].Message) > 1024):
				t.Errorf("%s: problems %+v", c.reason, problems)
			}
			if len(found.Names) == 0 || len(found.ProxyNames) == 0 || (c.address != "" && !slices.Contains(found.Names, c.address)) {
				t.Errorf("%s: certificates name %v and %v", c.reason, found.Names, found.ProxyNames)
			}
			if found.Image == "" || found.Version != "0.9.0" || !found.Current {
				t.Errorf("%s: image %s, version %s", c.reason, found.Image, found.Version)
			}
		})
	}
}

func TestFind_returnsTheNamesOfCertificates(t *testing.T) {
	s := service("x-agent-principal", balanced(corev1.LoadBalancerIngress{Hostname: "lb.example.com"}, corev1.LoadBalancerIngress{IP: "2001:db8::1"}, corev1.LoadBalancerIngress{Hostname: "not a name"}))
	found, _ := Find(Requirements{Namespace: "a", Address: "spec.example.com"}, Existing{Services: []corev1.Service{s, service("x-agent-resource-proxy")}})
	want := []string{"2001:db8::1", "lb.example.com", "spec.example.com", "x-agent-principal.a.svc", "x-agent-principal.a.svc.cluster.local"}
	if diff := gocmp.Diff(want, found.Names); diff != "" {
		t.Errorf("the principal's (-want +got):\n%s", diff)
	}
	if diff := gocmp.Diff([]string{"x-agent-resource-proxy.a.svc", "x-agent-resource-proxy.a.svc.cluster.local"}, found.ProxyNames); diff != "" {
		t.Errorf("the resource proxy's (-want +got):\n%s", diff)
	}
	if got := found.ProxyServer("a", "c1"); got != "https://x-agent-resource-proxy.a.svc:9090?agentName=c1" {
		t.Errorf("Argo CD is to dial %s", got)
	}
}

// Find detects the resource proxy's Service by the names that installers use, or by its label and port
// name. It takes the port from the Service.
func TestFind_detectsTheResourceProxy(t *testing.T) {
	labelled := func(s *corev1.Service) {
		s.Labels = map[string]string{partOfLabel: partOfAgent}
		s.Spec.Ports = []corev1.ServicePort{{Name: "metrics", Port: 8000}, {Name: proxyPortName, Port: 9443}}
	}
	for title, c := range map[string]struct {
		services []corev1.Service
		want     string
	}{
		"argocd-agent's manifests":    {[]corev1.Service{service(name), service("argocd-agent-resource-proxy", ports(corev1.ServicePort{Port: 9090}))}, "argocd-agent-resource-proxy.a.svc:9090"},
		"argocd-operator":             {[]corev1.Service{service("hub-agent-principal"), service("hub-agent-principal-resource-proxy", labelled)}, "hub-agent-principal-resource-proxy.a.svc:9443"},
		"another name":                {[]corev1.Service{service(name), service("proxy", labelled)}, "proxy.a.svc:9443"},
		"two of them":                 {[]corev1.Service{service(name), service("proxy", labelled), service("other", labelled)}, "argocd-agent-resource-proxy.a.svc:9090"},
		"a label without such a port": {[]corev1.Service{service(name), service("proxy", labelled, ports(corev1.ServicePort{Name: "x", Port: 1}))}, "argocd-agent-resource-proxy.a.svc:9090"},
	} {
		found, _ := Find(Requirements{Namespace: "a"}, Existing{Services: c.services})
		if got := found.ProxyServer("a", "c"); got != "https://"+c.want+"?agentName=c" {
			t.Errorf("%s: Argo CD is to dial %s", title, got)
		}
	}
}

// Find evaluates the Deployment that the spec names, and no other.
func TestFind_evaluatesTheNamedDeployment(t *testing.T) {
	mine := deployment(func(d *appsv1.Deployment) {
		d.Name, d.Spec.Template.Spec.Containers[0].Image = "mine", "argocd-agent:v0.9.3"
	})
	found, _ := Find(Requirements{Namespace: "a", Deployment: "mine"}, Existing{Deployments: []appsv1.Deployment{deployment(), mine}})
	if found.Deployment != "mine" || found.Version != "0.9.3" || found.Restartable {
		t.Errorf("found %+v", found)
	}
	if _, problems := Find(Requirements{Namespace: "a", Deployment: "mine", Address: "p.example.com"}, Existing{Deployments: []appsv1.Deployment{deployment()}}); len(problems) != 1 || !strings.Contains(problems[0].Message, "no Deployment mine") {
		t.Errorf("problems %+v", problems)
	}
}

// Agents may accept Applications of other namespaces. Find warns if the principal does not send them.
func TestFind_warnsOfMissingNamespaces(t *testing.T) {
	for value, want := range map[string]int{"": 1, "team-*": 0} {
		d := deployment(func(d *appsv1.Deployment) {
			c := &d.Spec.Template.Spec.Containers[0]
			c.Args = append(c.Args, "--allowed-namespaces="+value)
		})
		_, problems := Find(Requirements{Namespace: "argocd", Address: "p.example.com", AllowedNamespaces: []string{"team-*"}}, Existing{Deployments: []appsv1.Deployment{d}})
		if len(problems) != want || want == 1 && (problems[0].Reason != ReasonNotAllowed || !problems[0].Warning || !strings.Contains(problems[0].Message, `"team-*"`)) {
			t.Errorf("allowed namespaces %q: problems %+v", value, problems)
		}
	}
}

// Each unsuitable setting of the principal is reported with its reason and remedy.
func TestFind_reportsUnsuitableSettings(t *testing.T) {
	container := func(f func(*corev1.Container)) func(*appsv1.Deployment) {
		return func(d *appsv1.Deployment) { f(&d.Spec.Template.Spec.Containers[0]) }
	}
	args := func(args ...string) func(*appsv1.Deployment) {
		return container(func(c *corev1.Container) { c.Args = append([]string{"principal"}, args...) })
	}
	auth := func(value string) func(*appsv1.Deployment) {
		return args("--auth="+value, "--destination-based-mapping=true")
	}
	env := func(vars ...corev1.EnvVar) func(*appsv1.Deployment) {
		return container(func(c *corev1.Container) { c.Args, c.Env = []string{"principal"}, vars })
	}
	from := func(variable, config, key string) corev1.EnvVar {
		return corev1.EnvVar{Name: variable, ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: config}, Key: key}}}
	}
	cases := map[string]struct {
		reason  string
		change  func(*appsv1.Deployment)
		params  map[string]string
		config  string // the name of the ConfigMap with params, by default ParamsName
		mode    string
		image   string
		reasons []string
		warning bool
		says    string
	}{
		"as documented": {reason: "nothing is wrong"},
		"two words":     {reason: "a flag and its value", change: args("--auth", AuthValue, "--destination-based-mapping")},
		"flag twice":    {reason: "the last one counts", change: args("--auth=userpass:x", "--auth="+AuthValue, "--destination-based-mapping")},
		"variables": {reason: "the manifests fill variables from a ConfigMap", change: env(from("ARGOCD_PRINCIPAL_AUTH", ParamsName, "principal.auth"), from("ARGOCD_PRINCIPAL_DESTINATION_BASED_MAPPING", ParamsName, "principal.destination-based-mapping")),
			params: map[string]string{"principal.auth": AuthValue, "principal.destination-based-mapping": "true"}},
		"chart": {reason: "Helm's chart has another ConfigMap", config: "p-params", change: env(from("ARGOCD_PRINCIPAL_AUTH", "p-params", "principal.auth"), from("ARGOCD_PRINCIPAL_DESTINATION_BASED_MAPPING", "p-params", "principal.destination-based-mapping")),
			params: map[string]string{"principal.auth": AuthValue, "principal.destination-based-mapping": "false"}, reasons: []string{ReasonMapping}, says: "ConfigMap argocd/p-params"},
		"flag first": {reason: "a flag goes before a variable", params: map[string]string{"principal.auth": "userpass:x"}, change: container(func(c *corev1.Container) {
			c.Env = []corev1.EnvVar{from("ARGOCD_PRINCIPAL_AUTH", ParamsName, "principal.auth")}
		})},
		"unknown":         {reason: "what cannot be known is not evaluated", change: env(from("ARGOCD_PRINCIPAL_AUTH", "other", "x"), corev1.EnvVar{Name: "ARGOCD_PRINCIPAL_DESTINATION_BASED_MAPPING", Value: "true"})},
		"its own default": {reason: "it works, but is not anchored", change: auth("mtls:CN=([^,]+)"), reasons: []string{ReasonAuthNotAnchored}, warning: true, says: AuthValue},
		"begin only":      {reason: "clients of the resource proxy would be agents", change: auth("mtls:subject:^CN=([^,]+)"), reasons: []string{ReasonAuthNotAnchored}, warning: true, says: "O=resource-proxy"},
		"none":            {reason: "the principal does not start without", change: args("--destination-based-mapping"), reasons: []string{ReasonAuth}, says: AuthValue},
		"URI":             {reason: "certificates from here have no URI", change: auth("mtls:uri:spiffe://x/(.+)"), reasons: []string{ReasonAuth}, says: AuthValue},
		"header":          {reason: "a mesh is not what agents are made for", change: auth("header:x:(.+)"), reasons: []string{ReasonAuth}, says: AuthValue},
		"whole subject":   {reason: "the name would have the organisation in it", change: auth("mtls:subject:^CN=(.+)$"), reasons: []string{ReasonAuth}, says: "does not find agent"},
		"end too early":   {reason: "certificates from here have an organisation", change: auth("mtls:subject:^CN=([^,]+)$"), reasons: []string{ReasonAuth}, says: "does not find agent"},
		"no expression":   {reason: "it cannot be tried", change: auth("mtls:subject:("), reasons: []string{ReasonAuth}, says: "no regular expression"},
		"long":            {reason: "it is not even tried", change: auth("mtls:subject:" + strings.Repeat("a", 10_000)), reasons: []string{ReasonAuth}, says: "longer than"},
		"no mapping":      {reason: "trees would break", change: args("--auth=" + AuthValue), reasons: []string{ReasonMapping}, says: `principal.destination-based-mapping: "true"`},
		"mapping off":     {reason: "off is off", change: args("--auth="+AuthValue, "--destination-based-mapping=false"), reasons: []string{ReasonMapping}, says: "argocd-agent-params"},
		"autonomous":      {reason: "those have no destinations", mode: agent.ModeAutonomous, change: args("--auth="+AuthValue, "--allowed-namespaces=cluster*")},
		"no namespaces":   {reason: "syncs of the hub would not go", mode: agent.ModeAutonomous, change: args("--auth=" + AuthValue), reasons: []string{ReasonNotAllowed}, warning: true, says: "principal.allowed-namespaces"},
		"no proxy":        {reason: "nothing live is shown", change: args("--auth="+AuthValue, "--destination-based-mapping", "--enable-resource-proxy=false"), reasons: []string{ReasonNoResourceProxy}, warning: true, says: "--enable-resource-proxy=true"},
		"other version":   {reason: "its settings are not known", change: container(func(c *corev1.Container) { c.Image = "argocd-agent:v0.8.1" }), reasons: []string{ReasonVersion}, says: "0.8.1"},
		"its own image":   {reason: "who names the agents' image has seen to it", image: "agent:v0.8.1", change: container(func(c *corev1.Container) { c.Image = "argocd-agent:v0.8.1" }), reasons: []string{ReasonVersion}, warning: true, says: "0.8.1"},
		"self":            {reason: "Argo CD would know a cluster twice", change: args("--auth="+AuthValue, "--destination-based-mapping", "--enable-self-cluster-registration"), reasons: []string{ReasonSelfRegistration}, says: "--enable-self-cluster-registration=false"},
		"everything":      {reason: "each is told", change: args("--auth=userpass:x", "--enable-self-cluster-registration=true"), reasons: []string{ReasonAuth, ReasonMapping, ReasonSelfRegistration}, says: "argocd"},
		"no TLS":          {reason: "agents speak TLS", change: args("--auth="+AuthValue, "--destination-based-mapping", "--insecure-plaintext"), reasons: []string{ReasonOtherFiles}, says: "cannot connect"},
		"other Secret":    {reason: "its certificate is not ours", change: args("--auth="+AuthValue, "--destination-based-mapping", "--tls-secret-name=mine"), reasons: []string{ReasonOtherFiles}, says: "--tls-secret-name=argocd-agent-principal-tls"},
		"other CA":        {reason: "it refuses our agents", change: args("--auth="+AuthValue, "--destination-based-mapping", "--tls-ca-secret-name", "mine"), reasons: []string{ReasonOtherFiles}, says: "agents are refused"},
		"a file":          {reason: "nobody knows what is in it", change: args("--auth="+AuthValue, "--destination-based-mapping", "--tls-cert=/x/tls.crt"), reasons: []string{ReasonOtherFiles}, warning: true, says: "does not keep"},
		"the defaults":    {reason: "they may be set", change: args("--auth="+AuthValue, "--destination-based-mapping", "--tls-secret-name=argocd-agent-principal-tls", "--insecure-plaintext=false", "--tls-cert=")},
		"no replicas":     {reason: "nobody answers", change: func(d *appsv1.Deployment) { none := int32(0); d.Spec.Replicas = &none }, reasons: []string{ReasonNotRunning}, says: "scale it to 1"},
		"digest":          {reason: "its version cannot be checked", change: container(func(c *corev1.Container) { c.Image = "agent@sha256:0123" }), reasons: []string{ReasonVersionUnknown}, warning: true, says: "agent@sha256:0123"},
		"no container":    {reason: "it is none", change: func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers = nil }, reasons: []string{ReasonNotFound}, says: "no container"},
	}
	for title, c := range cases {
		t.Run(title, func(t *testing.T) {
			d := deployment()
			if c.change != nil {
				c.change(&d)
			}
			_, problems := Find(Requirements{Namespace: "argocd", Address: "p.example.com", Mode: c.mode, AgentImage: c.image}, Existing{Services: []corev1.Service{service(name)}, Deployments: []appsv1.Deployment{d}, Params: map[string]map[string]string{cmp.Or(c.config, ParamsName): c.params}})
			var got []string
			for _, p := range problems {
				got = append(got, p.Reason)
				if !strings.Contains(p.Message, c.says) || p.Warning != c.warning || len(p.Message) > 2048 {
					t.Errorf("%s: %+v", c.reason, p)
				}
			}
			if !slices.Equal(got, c.reasons) {
				t.Errorf("%s: problems %+v", c.reason, problems)
			}
		})
	}
}

func TestFind_readsTheDeployment(t *testing.T) {
	other := func(image string) appsv1.Deployment {
		return deployment(func(d *appsv1.Deployment) {
			d.Spec.Template.Spec.Containers = append([]corev1.Container{{Name: "proxy", Image: "proxy:1"}}, d.Spec.Template.Spec.Containers...)
			d.Spec.Template.Spec.Containers[1].Image = image
		})
	}
	for image, version := range map[string]string{
		"quay.io/argoprojlabs/argocd-agent:v0.9.0": "0.9.0", "localhost:5000/agent:0.10.1-rc1": "0.10.1-rc1", "localhost:5000/agent": "",
		"agent@sha256:0123": "", "agent:v0.9.0@sha256:0123": "0.9.0", "agent:latest": "", "": "",
	} {
		found, _ := Find(Requirements{Namespace: "a"}, Existing{Deployments: []appsv1.Deployment{other(image)}})
		if found.Image != image || found.Version != version {
			t.Errorf("%s: image %s, version %s", image, found.Image, found.Version)
		}
	}
	if found, _ := Find(Requirements{Namespace: "a"}, Existing{Deployments: []appsv1.Deployment{other(strings.Repeat("a", 10_000) + ":v0.9.0")}}); found.Image != "" || found.Version != "" {
		t.Errorf("an image of 10,000 letters is taken: version %s", found.Version)
	}
	for title, c := range map[string]struct {
		change func(*appsv1.Deployment)
		want   bool
	}{
		"rolled out":  {func(*appsv1.Deployment) {}, true},
		"not seen":    {func(d *appsv1.Deployment) { d.Generation++ }, false},
		"old pod":     {func(d *appsv1.Deployment) { d.Status.Replicas++ }, false},
		"not updated": {func(d *appsv1.Deployment) { d.Status.UpdatedReplicas = 0 }, false},
		"not there":   {func(d *appsv1.Deployment) { d.Status.AvailableReplicas = 0 }, false},
		"switched off": {func(d *appsv1.Deployment) {
			none := int32(0)
			d.Spec.Replicas, d.Status = &none, appsv1.DeploymentStatus{ObservedGeneration: 2}
		}, false},
	} {
		if found, _ := Find(Requirements{Namespace: "a"}, Existing{Deployments: []appsv1.Deployment{deployment(c.change)}}); found.Current != c.want {
			t.Errorf("%s: current is %t", title, found.Current)
		}
	}
	marked := deployment(func(d *appsv1.Deployment) {
		d.Spec.Template.Annotations = map[string]string{agent.CertificatesAnnotation: "x"}
	})
	if found, _ := Find(Requirements{Namespace: "a"}, Existing{Deployments: []appsv1.Deployment{marked}}); found.Certificates != "x" || found.Deployment != name {
		t.Errorf("%+v", found)
	}
}

// The number of ConfigMaps that are read is limited, even if a Deployment names many.
func TestParamsOf_namesAFew(t *testing.T) {
	d := deployment()
	for i := range 100 {
		ref := &corev1.ConfigMapKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: fmt.Sprintf("config-%d", i/2)}}
		d.Spec.Template.Spec.Containers[0].Env = append(d.Spec.Template.Spec.Containers[0].Env,
			corev1.EnvVar{Name: fmt.Sprintf("ARGOCD_PRINCIPAL_%d", i), ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: ref}})
	}
	if got := ParamsOf([]appsv1.Deployment{d}); !slices.Equal(got, []string{"config-0", "config-1", "config-2", "config-3"}) {
		t.Errorf("it reads %q", got)
	}
}

// argocd-operator derives the name of the resource proxy's Service from the principal's Service, for any
// name of the ArgoCD.
func TestFind_detectsTheResourceProxyOfArgoCDOperator(t *testing.T) {
	for _, instance := range []string{"openshift-gitops", "argocd", "mine"} {
		found, _ := Find(Requirements{Namespace: "a"}, Existing{Services: []corev1.Service{
			service(instance + "-agent-principal-healthz"), service(instance + "-agent-principal"), service(instance + "-agent-principal-resource-proxy"),
		}})
		want := instance + "-agent-principal-resource-proxy"
		if found.ProxyService != want || !slices.Contains(found.ProxyNames, want+".a.svc") {
			t.Errorf("ArgoCD %s: the resource proxy is %s, its certificate names %v", instance, found.ProxyService, found.ProxyNames)
		}
	}
}

// With argocd-agent's own manifests, the principal listens only on a loopback address by default. Find
// reports that, because agents cannot reach it.
func TestFind_reportsALoopbackAddress(t *testing.T) {
	listening := func(host string) []Problem {
		d := deployment(func(d *appsv1.Deployment) {
			d.Spec.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "ARGOCD_PRINCIPAL_LISTEN_HOST", ValueFrom: &corev1.EnvVarSource{
				ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: ParamsName}, Key: "principal.listen.host"},
			}}}
		})
		ingress := corev1.LoadBalancerIngress{IP: "192.0.2.7"}
		_, problems := Find(Requirements{Namespace: "argocd"}, Existing{
			Services: []corev1.Service{service(name, balanced(ingress))}, Deployments: []appsv1.Deployment{d}, Params: map[string]map[string]string{ParamsName: {"principal.listen.host": host}},
		})
		return problems
	}
	for _, host := range []string{"127.0.0.1", "127.0.0.2", "::1", "localhost"} {
		problems := listening(host)
		if len(problems) != 1 || problems[0].Reason != ReasonListensOnLoopback || problems[0].Warning ||
			!strings.Contains(problems[0].Message, `set principal.listen.host: "0.0.0.0" in ConfigMap argocd/argocd-agent-params`) {
			t.Errorf("host %s: %+v", host, problems)
		}
	}
	for _, host := range []string{"", "0.0.0.0", "::", "10.0.0.1"} {
		if problems := listening(host); len(problems) > 0 {
			t.Errorf("host %q: %+v", host, problems)
		}
	}
}

// A Helm release and argocd-operator use other names for the Deployment. Find reads image and settings from
// it. gitopscluster may restart only the Deployment that its Role names.
func TestFind_readsADeploymentOfAnotherName(t *testing.T) {
	named := func(name string) appsv1.Deployment {
		return deployment(func(d *appsv1.Deployment) { d.Name = name })
	}
	for what, c := range map[string]struct {
		services    []corev1.Service
		deployments []appsv1.Deployment
		want        string
		restartable bool
	}{
		"known":            {deployments: []appsv1.Deployment{named("x-agent-principal"), named(name)}, want: name, restartable: true},
		"like the Service": {services: []corev1.Service{service("x-agent-principal")}, deployments: []appsv1.Deployment{named("x-agent-principal"), named("y-agent-principal")}, want: "x-agent-principal"},
		"the only one":     {deployments: []appsv1.Deployment{named("other"), named("release-argocd-agent-principal")}, want: "release-argocd-agent-principal"},
		"one of two":       {deployments: []appsv1.Deployment{named("x-agent-principal"), named("y-agent-principal")}},
	} {
		found, _ := Find(Requirements{Namespace: "argocd", Address: "p.example.com"}, Existing{Services: c.services, Deployments: c.deployments})
		if found.Deployment != c.want || found.Restartable != c.restartable || (found.Image == "") != (c.want == "") {
			t.Errorf("%s: Deployment %q, image %q, restartable %t", what, found.Deployment, found.Image, found.Restartable)
		}
	}
}
