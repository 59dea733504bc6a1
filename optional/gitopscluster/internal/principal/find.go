// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package principal

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// These are the usual names of a principal and its Services.
var (
	serviceNames = []string{"argocd-agent-principal", "openshift-gitops-agent-principal"}
	// DeploymentNames are the Deployments that may be restarted.
	DeploymentNames = []string{"argocd-agent-principal", "openshift-gitops-agent-principal"}
)

const (
	serviceSuffix = "-agent-principal"
	proxySuffix   = "-agent-resource-proxy"
	defaultProxy  = "argocd-agent-resource-proxy"
	// operatorProxySuffix is the suffix that argocd-operator appends to the name of the principal's
	// Service.
	operatorProxySuffix = "-resource-proxy"
	// proxyPort is the fixed port of the resource proxy, and the default port of its Service.
	proxyPort     = 9090
	proxyPortName = "resource-proxy"
	defaultPort   = 443
	partOfLabel   = "app.kubernetes.io/part-of"
	partOfAgent   = "argocd-agent"
	maxIngresses  = 16
)

// These are the sources of an address.
const (
	SourceSpec         = "Spec"
	SourceRoute        = "Route"
	SourceLoadBalancer = "LoadBalancer"
)

// These are the reasons of a [Problem].
const (
	ReasonNotFound         = "PrincipalNotFound"
	ReasonNotExposed       = "PrincipalNotExposed"
	ReasonAddress          = "AddressNotUsable"
	ReasonAuth             = "AuthDoesNotMatch"
	ReasonAuthNotAnchored  = "AuthNotAnchored"
	ReasonMapping          = "MappingDiffers"
	ReasonSelfRegistration = "SelfRegistrationOn"
	// ReasonListensOnLoopback means that no agent can reach the principal.
	ReasonListensOnLoopback = "ListensOnLoopback"
	ReasonVersion           = "VersionNotSupported"
	ReasonNotAllowed        = "NamespacesNotAllowed"
	ReasonNoResourceProxy   = "NoResourceProxy"
	// ReasonNotRunning means that the principal's Deployment has no replicas.
	ReasonNotRunning = "PrincipalNotRunning"
	// ReasonVersionUnknown means that the principal's image names no version.
	ReasonVersionUnknown = "VersionUnknown"
	// ReasonOtherFiles means that the principal reads certificates that gitopscluster does not
	// keep, or none.
	ReasonOtherFiles   = "OtherCertificates"
	ReasonPingsRefused = "PingsRefused"
)

// Problem is a deviation from the required state, with the remedy.
type Problem struct {
	Reason, Message string
	// Warning is set when agents work in spite of it.
	Warning bool
}

// Requirements are the requirements of a GitOpsCluster.
type Requirements struct {
	// Namespace is the namespace of the hub's Argo CD.
	Namespace string
	// Address and Port are the values in the spec. If a value is empty, gitopscluster has to find
	// it.
	Address, Port string
	// Field names the field of the spec that holds the address, for messages.
	Field string
	// Mode of the agents, "managed" unless it is "autonomous".
	Mode string
	// Service and Deployment are names. If a name is empty, gitopscluster has to find the object.
	Service, Deployment string
	// AllowedNamespaces are the hub namespaces, in addition to Argo CD's, from which agents accept
	// Applications.
	AllowedNamespaces []string
	// AgentImage is the image of agents. If it is empty, agents run the principal's image.
	AgentImage string
	// KeepAlive is the interval of the agents' pings. 0 means no pings.
	KeepAlive time.Duration
}

// Found is the state of the principal.
type Found struct {
	Address string
	Port    int32
	// Source is the origin of the address.
	Source string
	// Image is the image of the principal's container. Version is empty if the image has none.
	Image, Version string
	// Service and Deployment are names in the hub's Argo CD namespace, or empty.
	Service, Deployment string
	// Restartable is set when gitopscluster may restart that Deployment.
	Restartable bool
	// ProxyService is the name of the resource proxy's Service, ProxyPort its port.
	ProxyService string
	ProxyPort    int32
	// Names are the host names and addresses in the principal's certificate, ProxyNames those in
	// the resource proxy's.
	Names, ProxyNames []string
	// Certificates is the digest that the Deployment's pods were restarted for, Current
	// whether all of them are of the Deployment's present template and available.
	Certificates string
	Current      bool
}

// ProxyServer returns the URL by which the hub's Argo CD reaches a cluster's live view.
func (f Found) ProxyServer(namespace, cluster string) string {
	return fmt.Sprintf("https://%s.%s.svc:%d?agentName=%s", f.ProxyService, namespace, f.ProxyPort, cluster)
}

// Find returns where the principal is, and which of its settings do not fit. There is an address
// unless a problem explains its absence.
func Find(desired Requirements, existing Existing) (Found, []Problem) {
	found := Found{ProxyService: defaultProxy, ProxyPort: proxyPort}
	var problems []Problem
	service := principalService(existing.Services, desired.Service)
	if service != nil {
		found.Service = service.Name
		problems = append(problems, locate(&found, desired, service, existing.Routes)...)
	} else {
		problems = append(problems, locateWithoutService(&found, desired, existing.Services)...)
	}
	if proxy := proxyService(existing.Services, found.Service); proxy != nil {
		found.ProxyService, found.ProxyPort = proxy.Name, proxyPortOf(proxy)
	}
	found.Names = certificateNames(desired.Namespace, service, serviceNames[0], found.Address)
	found.ProxyNames = certificateNames(desired.Namespace, nil, found.ProxyService, "")
	return found, append(problems, inspect(&found, desired, existing)...)
}

// principalService returns the Service of the principal, nil unless it is clear which.
func principalService(services []corev1.Service, name string) *corev1.Service {
	if name != "" {
		return byName(services, []string{name})
	}
	if s := byName(services, serviceNames); s != nil {
		return s
	}
	var only *corev1.Service
	for i := range services {
		if strings.HasSuffix(services[i].Name, serviceSuffix) {
			if only != nil {
				return nil
			}
			only = &services[i]
		}
	}
	return only
}

func byName(services []corev1.Service, names []string) *corev1.Service {
	for _, name := range names {
		if i := slices.IndexFunc(services, func(s corev1.Service) bool { return s.Name == name }); i >= 0 {
			return &services[i]
		}
	}
	return nil
}

// proxyNames returns the names that the resource proxy's Service may have for the name of the
// principal's.
func proxyNames(service string) []string {
	var names []string
	if instance, ok := strings.CutSuffix(service, serviceSuffix); ok {
		names = append(names, service+operatorProxySuffix, instance+proxySuffix)
	}
	names = append(names, defaultProxy)
	return append(names, "openshift-gitops"+proxySuffix)
}

// proxyService returns the resource proxy's Service. It prefers the names of known installers, and
// else takes the only one with its label and port.
func proxyService(services []corev1.Service, principal string) *corev1.Service {
	if s := byName(services, proxyNames(principal)); s != nil {
		return s
	}
	var only *corev1.Service
	for i := range services {
		s := &services[i]
		if s.Labels[partOfLabel] != partOfAgent || !slices.ContainsFunc(s.Spec.Ports, func(p corev1.ServicePort) bool { return p.Name == proxyPortName }) {
			continue
		}
		if only != nil {
			return nil
		}
		only = s
	}
	return only
}

func proxyPortOf(service *corev1.Service) int32 {
	for _, p := range service.Spec.Ports {
		if p.Name == proxyPortName {
			return p.Port
		}
	}
	return proxyPort
}

// locate finds the address at which managed clusters reach a Service.
func locate(found *Found, desired Requirements, service *corev1.Service, routes []Route) []Problem {
	port, ok := servicePort(service, desired.Address != "")
	route := agentRoute(routes, service.Name)
	switch {
	case desired.Address != "":
		found.Address, found.Port, found.Source = desired.Address, port, SourceSpec
	case route != "":
		found.Address, found.Port, found.Source = route, defaultPort, SourceRoute
	case ingress(service) != "":
		found.Address, found.Port, found.Source = ingress(service), port, SourceLoadBalancer
	default:
		return []Problem{{Reason: ReasonNotExposed, Message: fmt.Sprintf(
			"Service %s/%s of type %s has no address that managed clusters reach: no Route of part-of %s, no status.loadBalancer.ingress; %s, or set %s (with type NodePort to the address of a node)",
			desired.Namespace, service.Name, service.Spec.Type, partOfAgent, cmp.Or(installationOf(desired.Namespace, service).place(typeSetting, "LoadBalancer"), "set its type to LoadBalancer"), desired.field())}}
	}
	if !ok && desired.Port == "" && found.Source != SourceRoute {
		port := Problem{Reason: ReasonNotExposed, Message: fmt.Sprintf(
			"Service %s/%s has no port https, 443 or 8443 and not just one; name its port https, or set the port beside %s", desired.Namespace, service.Name, desired.field())}
		found.Address, found.Port, found.Source = "", 0, ""
		return []Problem{port}
	}
	return settle(found, desired)
}

// locateWithoutService takes the address from the spec, or reports that it is missing.
func locateWithoutService(found *Found, desired Requirements, services []corev1.Service) []Problem {
	if desired.Address != "" {
		found.Address, found.Port, found.Source = desired.Address, defaultPort, SourceSpec
		return settle(found, desired)
	}
	several := ""
	if slices.ContainsFunc(services, func(s corev1.Service) bool { return strings.HasSuffix(s.Name, serviceSuffix) }) {
		several = ", and more than one that ends in " + serviceSuffix
	}
	names := serviceNames
	if desired.Service != "" {
		names = []string{desired.Service}
	}
	return []Problem{{Reason: ReasonNotFound, Message: fmt.Sprintf("there is no Service %s in namespace %s%s; install argocd-agent's principal there, or set %s",
		strings.Join(names, " or "), desired.Namespace, several, desired.field())}}
}

// settle applies the port of the spec and checks the outcome.
func settle(found *Found, desired Requirements) []Problem {
	if desired.Port != "" {
		port, err := strconv.ParseUint(desired.Port, 10, 16)
		if err != nil || port == 0 {
			*found = Found{Service: found.Service, ProxyService: found.ProxyService, ProxyPort: found.ProxyPort}
			return []Problem{{Reason: ReasonAddress, Message: fmt.Sprintf("port %q beside %s is no port; set a number from 1 to 65535", clip(desired.Port), desired.field())}}
		}
		found.Port = int32(port)
	}
	if net.ParseIP(found.Address) == nil && len(validation.IsDNS1123Subdomain(found.Address)) > 0 {
		problem := Problem{Reason: ReasonAddress, Message: fmt.Sprintf("address %q (from %s) is neither a host name nor an IP address; set %s to one, without scheme and port",
			clip(found.Address), found.Source, desired.field())}
		*found = Found{Service: found.Service, ProxyService: found.ProxyService, ProxyPort: found.ProxyPort}
		return []Problem{problem}
	}
	return nil
}

func (w Requirements) field() string {
	if w.Field == "" {
		return "the principal's address in the GitOpsCluster"
	}
	return w.Field
}

// servicePort returns the port that agents dial. It returns false if the port is ambiguous. With an
// address from the spec, the port is the node port of a Service of type NodePort.
func servicePort(service *corev1.Service, named bool) (int32, bool) {
	ports := service.Spec.Ports
	portOf := func(p corev1.ServicePort) int32 {
		if named && service.Spec.Type == corev1.ServiceTypeNodePort && p.NodePort != 0 {
			return p.NodePort
		}
		return p.Port
	}
	for _, is := range []func(corev1.ServicePort) bool{
		func(p corev1.ServicePort) bool { return p.Name == "https" },
		func(p corev1.ServicePort) bool { return p.Port == 443 },
		func(p corev1.ServicePort) bool { return p.Port == 8443 },
	} {
		if i := slices.IndexFunc(ports, is); i >= 0 {
			return portOf(ports[i]), true
		}
	}
	if len(ports) == 1 {
		return portOf(ports[0]), true
	}
	return defaultPort, false
}

// ingress returns the host name of a load balancer, else its address.
func ingress(service *corev1.Service) string {
	ingresses := service.Status.LoadBalancer.Ingress
	for _, i := range ingresses[:min(len(ingresses), maxIngresses)] {
		if i.Hostname != "" {
			return i.Hostname
		}
	}
	for _, i := range ingresses[:min(len(ingresses), maxIngresses)] {
		if i.IP != "" {
			return i.IP
		}
	}
	return ""
}

// agentRoute returns the host of the OpenShift Route that leads to a Service.
func agentRoute(routes []Route, service string) string {
	for _, r := range routes {
		if r.Service == service && r.Host != "" && r.Labels[partOfLabel] == partOfAgent {
			return r.Host
		}
	}
	return ""
}

// certificateNames are the names that a Service is called by, sorted.
func certificateNames(namespace string, service *corev1.Service, name, address string) []string {
	var names []string
	if service != nil {
		name = service.Name
		ingresses := service.Status.LoadBalancer.Ingress
		for _, i := range ingresses[:min(len(ingresses), maxIngresses)] {
			names = append(names, i.Hostname, i.IP)
		}
	}
	names = append(names, address, name+"."+namespace+".svc", name+"."+namespace+".svc.cluster.local")
	for i, n := range names {
		if parsed, err := netip.ParseAddr(n); err == nil {
			names[i] = parsed.WithZone("").String()
		} else if len(validation.IsDNS1123Subdomain(n)) > 0 {
			names[i] = ""
		}
	}
	names = slices.DeleteFunc(names, func(n string) bool { return n == "" })
	return slices.Compact(slices.Sorted(slices.Values(names)))
}

func clip(text string) string {
	if len(text) > 128 {
		return text[:125] + "..."
	}
	return text
}
