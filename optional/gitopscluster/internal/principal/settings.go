// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package principal

import (
	"cmp"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agent"
)

const (
	// ParamsName is the ConfigMap with the principal's settings in argocd-agent's manifests.
	ParamsName = "argocd-agent-params"
	// AuthValue is the setting by which the principal accepts our certificates, and
	// no others.
	AuthValue     = `mtls:subject:^CN=([^,]+)(?:,O=g[0-9]+)?$`
	maxExpression = 1024
	maxImage      = 512
	maxParams     = 4
	// supported is the prefix of the versions with these settings and defaults.
	supported = "0.9."
	// leastPing is the shortest interval between pings that gRPC allows by default.
	leastPing = 5 * time.Minute
)

// inspect reads the principal's Deployment and checks its settings. An address from the spec may
// belong to a principal elsewhere. The settings of such a principal are unknown.
func inspect(found *Found, desired Requirements, existing Existing) []Problem {
	deployment := principalDeployment(existing.Deployments, found.Service, desired.Deployment)
	if deployment == nil {
		return []Problem{{Warning: found.Address != "", Reason: ReasonNotFound, Message: fmt.Sprintf(
			"there is no Deployment %s in namespace %s: image and settings of the principal are not known; install argocd-agent's principal there, or set spec.principal.deployment",
			cmp.Or(desired.Deployment, strings.Join(DeploymentNames, " or ")), desired.Namespace)}}
	}
	found.Deployment, found.Restartable = deployment.Name, slices.Contains(DeploymentNames, deployment.Name)
	found.Certificates = deployment.Spec.Template.Annotations[agent.CertificatesAnnotation]
	found.Current = rolledOut(deployment)
	container := principalContainer(deployment.Spec.Template.Spec.Containers)
	if container == nil {
		return []Problem{{Reason: ReasonNotFound, Message: fmt.Sprintf("Deployment %s/%s has no container that runs the principal", desired.Namespace, deployment.Name)}}
	}
	if len(container.Image) <= maxImage {
		found.Image, found.Version = container.Image, version(container.Image)
	}
	configuration := configured{installation: installationOf(desired.Namespace, deployment), container: container, params: existing.Params}
	problems := checkSettings(configuration, desired)
	if r := deployment.Spec.Replicas; r != nil && *r == 0 {
		problems = append(problems, Problem{Reason: ReasonNotRunning, Message: fmt.Sprintf("Deployment %s/%s has 0 replicas, so no agent is connected; scale it to 1", desired.Namespace, deployment.Name)})
	}
	if found.Version == "" && found.Image != "" && desired.AgentImage == "" {
		problems = append(problems, Problem{Warning: true, Reason: ReasonVersionUnknown, Message: fmt.Sprintf(
			"the principal's image %s names no version: agents run the same image with settings for %sx, and nothing checks that these fit; see to it that it is one, and then name it in spec.principal.agentImage", clip(found.Image), supported)})
	}
	if found.Version != "" && !strings.HasPrefix(found.Version, supported) {
		problems = append(problems, Problem{Warning: desired.AgentImage != "", Reason: ReasonVersion, Message: fmt.Sprintf(
			"the principal is of version %s, and agents get the settings of %sx, of which another version may not know some: after a restore of the hub it may delete and recreate Applications; %s, or, if you know that they fit, name the agents' image in spec.principal.agentImage",
			found.Version, supported, cmp.Or(configuration.place(imageSetting, agent.Version), "install argocd-agent "+supported+"x"))})
	}
	return problems
}

// principalDeployment returns the Deployment with the name of the Service, or the only one with the
// usual suffix.
func principalDeployment(deployments []appsv1.Deployment, service, name string) *appsv1.Deployment {
	if name != "" {
		if i := slices.IndexFunc(deployments, func(d appsv1.Deployment) bool { return d.Name == name }); i >= 0 {
			return &deployments[i]
		}
		return nil
	}
	for _, name := range append([]string{service}, DeploymentNames...) {
		if i := slices.IndexFunc(deployments, func(d appsv1.Deployment) bool { return d.Name == name }); i >= 0 {
			return &deployments[i]
		}
	}
	var only *appsv1.Deployment
	for i := range deployments {
		if strings.HasSuffix(deployments[i].Name, serviceSuffix) {
			if only != nil {
				return nil
			}
			only = &deployments[i]
		}
	}
	return only
}

// ParamsOf returns the names of the ConfigMaps that principals have settings from.
func ParamsOf(deployments []appsv1.Deployment) []string {
	var names []string
	for i := range deployments {
		container := principalContainer(deployments[i].Spec.Template.Spec.Containers)
		if container == nil {
			continue
		}
		for _, e := range container.Env {
			if e.ValueFrom != nil && e.ValueFrom.ConfigMapKeyRef != nil && strings.HasPrefix(e.Name, "ARGOCD_PRINCIPAL_") && !slices.Contains(names, e.ValueFrom.ConfigMapKeyRef.Name) {
				names = append(names, e.ValueFrom.ConfigMapKeyRef.Name)
			}
		}
	}
	return names[:min(len(names), maxParams)]
}

// rolledOut reports whether every pod is of the present template and available.
func rolledOut(d *appsv1.Deployment) bool {
	replicas := int32(1)
	if d.Spec.Replicas != nil {
		replicas = *d.Spec.Replicas
	}
	s := d.Status
	return replicas > 0 && s.ObservedGeneration >= d.Generation && s.Replicas == replicas && s.UpdatedReplicas == replicas && s.AvailableReplicas == replicas
}

// principalContainer returns the container with arguments that run a principal, else the first
// container.
func principalContainer(containers []corev1.Container) *corev1.Container {
	if len(containers) == 0 {
		return nil
	}
	i := slices.IndexFunc(containers, func(c corev1.Container) bool {
		return slices.Contains(c.Args, "principal") || slices.Contains(c.Command, "principal")
	})
	return &containers[max(i, 0)]
}

var versionTag = regexp.MustCompile(`^v?([0-9]+\.[0-9]+\.[0-9]+(?:[-+.][0-9A-Za-z.+-]+)?)$`)

// version returns the tag of an image without a leading v.
func version(image string) string {
	name, _, _ := strings.Cut(image, "@")
	name = name[strings.LastIndex(name, "/")+1:]
	_, tag, _ := strings.Cut(name, ":")
	if m := versionTag.FindStringSubmatch(tag); m != nil {
		return m[1]
	}
	return ""
}

// configured is where a setting is read from.
type configured struct {
	installation
	container *corev1.Container
	params    map[string]map[string]string
}

// value returns a setting, and whether it is known: a variable with a value from another object is
// not.
func (p configured) value(s setting) (string, bool) {
	args := slices.Concat(p.container.Command, p.container.Args)
	for i := len(args) - 1; i >= 0; i-- {
		flag, ok := strings.CutPrefix(args[i], "--")
		name, value, given := strings.Cut(flag, "=")
		switch {
		case !ok || name != s.flag:
		case given:
			return value, true
		case i+1 < len(args) && !strings.HasPrefix(args[i+1], "-") && s != mappingSetting && s != selfSetting && s != proxySetting:
			return args[i+1], true
		default:
			return "true", true // a boolean flag
		}
	}
	for i := len(p.container.Env) - 1; i >= 0; i-- {
		e := p.container.Env[i]
		if e.Name != s.variable {
			continue
		}
		if e.ValueFrom == nil {
			return e.Value, true
		}
		ref := e.ValueFrom.ConfigMapKeyRef
		if ref == nil {
			return "", false
		}
		params, read := p.params[ref.Name]
		return params[ref.Key], read
	}
	if len(p.container.EnvFrom) > 0 {
		return "", false
	}
	return "", true
}

// remedy names the objects in which a setting may be set.
func (p configured) remedy(s setting, value string) string {
	if place := p.place(s, value); place != "" {
		return place
	}
	if s.key == "" {
		return fmt.Sprintf("set --%s=%s, or variable %s, in Deployment %s/%s", s.flag, value, s.variable, p.namespace, p.name)
	}
	params := ParamsName
	if i := slices.IndexFunc(p.container.Env, func(e corev1.EnvVar) bool { return e.Name == s.variable }); i >= 0 {
		if from := p.container.Env[i].ValueFrom; from != nil && from.ConfigMapKeyRef != nil {
			params = from.ConfigMapKeyRef.Name
		}
	}
	return fmt.Sprintf("set %s: %q in ConfigMap %s/%s, or --%s=%s in Deployment %s", s.key, value, p.namespace, params, s.flag, value, p.name)
}

func (p configured) is(s setting) (on, known bool) {
	value, known := p.value(s)
	on, _ = strconv.ParseBool(value)
	return on, known
}

func checkSettings(p configured, desired Requirements) []Problem {
	var problems []Problem
	if value, known := p.value(authSetting); known {
		problems = append(problems, checkAuth(p, value)...)
	}
	if on, known := p.is(mappingSetting); known && !on && desired.Mode != agent.ModeAutonomous {
		problems = append(problems, Problem{Reason: ReasonMapping, Message: "the principal does not map Applications by their destination, as managed agents do: " + p.remedy(mappingSetting, "true")})
	}
	if on, known := p.is(selfSetting); known && on {
		problems = append(problems, Problem{Reason: ReasonSelfRegistration, Message: "agents register themselves with the principal, so that Argo CD would know a cluster twice: " + p.remedy(selfSetting, "false")})
	}
	problems = append(problems, checkFiles(p)...)
	problems = append(problems, checkNamespaces(p, desired)...)
	problems = append(problems, checkKeepAlive(p, desired)...)
	if on, known := p.is(proxySetting); known && !on && p.has(proxySetting) {
		problems = append(problems, Problem{Warning: true, Reason: ReasonNoResourceProxy, Message: "the principal runs without its resource proxy, so that the hub shows no live resources: " + p.remedy(proxySetting, "true")})
	}
	if host, known := p.value(listenSetting); known && loopback(host) {
		problems = append(problems, Problem{Reason: ReasonListensOnLoopback, Message: fmt.Sprintf(
			"the principal listens on %s, which no managed cluster reaches: %s", host, p.remedy(listenSetting, "0.0.0.0"))})
	}
	return problems
}

// checkFiles compares the Secrets and files from which the principal reads its certificates with
// the Secrets that gitopscluster keeps.
func checkFiles(p configured) []Problem {
	var problems []Problem
	for _, f := range fileSettings {
		value, known := p.value(f.setting)
		if !known || value == "" || value == f.want {
			continue
		}
		effect := "gitopscluster does not keep that certificate, and does not know whether agents trust it"
		switch {
		case f.setting == plaintextSetting:
			effect = "agents speak TLS, and cannot connect"
		case f.refuses:
			effect = fmt.Sprintf("gitopscluster keeps Secret %s, and agents are refused", f.want)
		}
		problems = append(problems, Problem{Warning: !f.refuses, Reason: ReasonOtherFiles, Message: fmt.Sprintf(
			"the principal runs with %s %q: %s; %s", f.flag, clip(value), effect, p.remedy(f.setting, f.want))})
	}
	return problems
}

// checkNamespaces checks the setting of the allowed namespaces. Without the setting, the principal
// works only on Argo CD's namespace.
func checkNamespaces(p configured, desired Requirements) []Problem {
	if value, known := p.value(allowedSetting); !known || value != "" {
		return nil
	}
	problem := Problem{Warning: true, Reason: ReasonNotAllowed}
	switch {
	case desired.Mode == agent.ModeAutonomous:
		problem.Message = "autonomous Applications are shown, but not synced from the hub, as the principal does not work on the namespaces that are called like the clusters: " + p.remedy(allowedSetting, "<names of the clusters, with commas>")
	case len(desired.AllowedNamespaces) > 0:
		list := strings.Join(desired.AllowedNamespaces, ",")
		problem.Message = fmt.Sprintf("agents take Applications of namespaces %s (spec.agent.allowedNamespaces), and the principal sends those of its own only: %s", list, p.remedy(allowedSetting, list))
	default:
		return nil
	}
	return []Problem{problem}
}

// checkKeepAlive checks the interval of pings: the third ping that comes too soon on an idle
// connection closes it.
func checkKeepAlive(p configured, desired Requirements) []Problem {
	value, known := p.value(pingSetting)
	if !known || desired.KeepAlive == 0 {
		return nil
	}
	least, err := time.ParseDuration(value)
	if err != nil || least <= 0 {
		least = leastPing
	}
	if desired.KeepAlive > least {
		return nil
	}
	return []Problem{{Reason: ReasonPingsRefused, Message: fmt.Sprintf(
		"agents ping every %s (spec.agent.keepAlive), and the principal ends connections with less than %s between two pings: %s",
		desired.KeepAlive, least, p.remedy(pingSetting, (desired.KeepAlive/2).String()))}}
}

// has reports whether a setting is set at all: its default may be true.
func (p configured) has(s setting) bool {
	value, known := p.value(s)
	return known && value != ""
}

func loopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && address.IsLoopback()
}

// probe is the name of a cluster for tests of a setting.
const probe = "cluster-1"

// foreignSubjects are subjects of certificates that do not belong to the probe, but contain its
// name in some form. The principal searches its expression in the text of the subject.
var foreignSubjects = []string{"O=CN=" + probe, "CN=other,O=CN=" + probe, "CN=" + probe + ",O=resource-proxy", "SERIALNUMBER=CN=" + probe + ",CN=other", "OU=CN=" + probe + ",CN=other"}

// checkAuth tries the principal's own way to identify agents.
func checkAuth(p configured, value string) []Problem {
	wrong := func(why string) []Problem {
		return []Problem{{Reason: ReasonAuth, Message: fmt.Sprintf("the principal's authentication %q %s: %s", clip(value), why, p.remedy(authSetting, AuthValue))}}
	}
	expression, mtls := strings.CutPrefix(value, "mtls:")
	switch {
	case value == "":
		return wrong("is not set")
	case !mtls || strings.HasPrefix(expression, "uri:"):
		return wrong("does not look at the subject of client certificates")
	case len(value) > maxExpression:
		return wrong(fmt.Sprintf("is longer than %d characters", maxExpression))
	}
	compiled, err := regexp.Compile(strings.TrimPrefix(expression, "subject:"))
	if err != nil {
		return wrong("is no regular expression")
	}
	if identity(compiled, "CN="+probe+",O=g1") != probe || identity(compiled, "CN="+probe+",O=g12") != probe {
		return wrong(fmt.Sprintf("does not find agent %s in subject CN=%s,O=g1", probe, probe))
	}
	for _, subject := range foreignSubjects {
		if identity(compiled, subject) == probe {
			return []Problem{{Warning: true, Reason: ReasonAuthNotAnchored, Message: fmt.Sprintf(
				"the principal's authentication %q takes a certificate of subject %s for agent %s: %s",
				clip(value), subject, probe, p.remedy(authSetting, AuthValue))}}
		}
	}
	return nil
}

// identity returns the agent that the principal finds in a subject.
func identity(expression *regexp.Regexp, subject string) string {
	if m := expression.FindStringSubmatch(subject); len(m) > 1 {
		return m[1]
	}
	return ""
}
