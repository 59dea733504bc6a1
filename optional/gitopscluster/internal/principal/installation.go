// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package principal

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/internal/agent"
)

// setting is a setting of the principal that has to fit the agents. Its names are the names in
// argocd-agent v0.9.0: the flag, which takes precedence, the variable, and the key from which its
// manifests set the variable.
type setting struct {
	flag, variable, key string
	// operator is the field below spec.argoCDAgent.principal of an ArgoCD. chart is the value of
	// argocd-agent's chart. Each has a verb for the value.
	operator, chart string
}

var (
	authSetting    = setting{"auth", "ARGOCD_PRINCIPAL_AUTH", "principal.auth", "auth: %q", "principal.auth: %q"}
	mappingSetting = setting{"destination-based-mapping", "ARGOCD_PRINCIPAL_DESTINATION_BASED_MAPPING", "principal.destination-based-mapping", "destinationBasedMapping: %s", "principal.destinationBasedMapping: %s"}
	listenSetting  = setting{"listen-host", "ARGOCD_PRINCIPAL_LISTEN_HOST", "principal.listen.host", "", "principal.listen.host: %q"}
	allowedSetting = setting{"allowed-namespaces", "ARGOCD_PRINCIPAL_ALLOWED_NAMESPACES", "principal.allowed-namespaces", "namespace.allowedNamespaces: [%q]", "principal.allowedNamespaces: %q"}
	proxySetting   = setting{"enable-resource-proxy", "ARGOCD_PRINCIPAL_ENABLE_RESOURCE_PROXY", "principal.resource-proxy.enable", "", "principal.resourceProxy.enabled: %s"}
	pingSetting    = setting{"keepalive-min-interval", "ARGOCD_PRINCIPAL_KEEP_ALIVE_MIN_INTERVAL", "principal.keep-alive.min-interval", "server.keepAliveMinInterval: %q", "principal.keepAlive.minInterval: %q"}
	selfSetting    = setting{"enable-self-cluster-registration", "ARGOCD_PRINCIPAL_ENABLE_SELF_CLUSTER_REGISTRATION", "", "", "principal.additionalArgs: [--enable-self-cluster-registration=%s]"}
	// These settings define with which certificates the principal serves, and whom it trusts.
	plaintextSetting = setting{"insecure-plaintext", "ARGOCD_PRINCIPAL_INSECURE_PLAINTEXT", "principal.tls.insecure-plaintext", "", ""}
	imageSetting     = setting{operator: `image: "quay.io/argoprojlabs/argocd-agent:%s"`, chart: "image.tag: %q"}
	typeSetting      = setting{operator: "server.service.type: %s", chart: "service.type: %s"}
)

// fileSettings are the settings for the principal's certificates, with the values that
// gitopscluster supports. refuses is true if no agent can connect with another value.
var fileSettings = []struct {
	setting
	want    string
	refuses bool
}{
	{plaintextSetting, "false", true},
	{setting{"tls-secret-name", "ARGOCD_PRINCIPAL_TLS_SECRET_NAME", "principal.tls.secret-name", "", ""}, "argocd-agent-principal-tls", true},
	{setting{"tls-ca-secret-name", "ARGOCD_PRINCIPAL_TLS_SERVER_ROOT_CA_SECRET_NAME", "principal.tls.server.root-ca-secret-name", "", ""}, agent.CASecretName, true},
	{setting{"tls-cert", "ARGOCD_PRINCIPAL_TLS_SERVER_CERT_PATH", "principal.tls.server.cert-path", "", ""}, "", false},
	{setting{"root-ca-path", "ARGOCD_PRINCIPAL_TLS_SERVER_ROOT_CA_PATH", "principal.tls.server.root-ca-path", "", ""}, "", false},
	{setting{"resource-proxy-secret-name", "ARGOCD_PRINCIPAL_RESOURCE_PROXY_SECRET_NAME", "principal.resource-proxy.secret-name", "", ""}, "argocd-agent-resource-proxy-tls", false},
	{setting{"resource-proxy-ca-secret-name", "ARGOCD_PRINCIPAL_RESOURCE_PROXY_CA_SECRET_NAME", "principal.resource-proxy.ca.secret-name", "", ""}, agent.CASecretName, false},
	{setting{"resource-proxy-cert-path", "ARGOCD_PRINCIPAL_RESOURCE_PROXY_TLS_CERT_PATH", "principal.resource-proxy.tls.cert-path", "", ""}, "", false},
}

// installation is the source from which an object of the principal was created. Settings on the
// object itself are lost when the source is applied again. An operator applies it at once.
type installation struct {
	namespace, name string
	// argocd is the ArgoCD that argocd-operator made it for, release the release of a chart.
	argocd, release string
}

func installationOf(namespace string, o metav1.Object) installation {
	in := installation{namespace: namespace, name: o.GetName()}
	if owner := metav1.GetControllerOf(o); owner != nil && owner.Kind == "ArgoCD" && strings.HasPrefix(owner.APIVersion, "argoproj.io/") {
		in.argocd = owner.Name
	}
	if labels := o.GetLabels(); labels["app.kubernetes.io/managed-by"] == "Helm" {
		in.release = labels["app.kubernetes.io/instance"]
	}
	return in
}

// place returns a remedy that names the source in which to change a setting. It returns "" if the
// object itself is the source.
func (in installation) place(s setting, value string) string {
	switch {
	case in.argocd != "" && s == allowedSetting: // a list there
		value = strings.ReplaceAll(fmt.Sprintf(s.operator, value), ",", `", "`)
		return fmt.Sprintf("set spec.argoCDAgent.principal.%s in ArgoCD %s/%s", value, in.namespace, in.argocd)
	case in.argocd != "" && s.operator != "":
		return fmt.Sprintf("set spec.argoCDAgent.principal."+s.operator+" in ArgoCD %s/%s", value, in.namespace, in.argocd)
	case in.argocd != "":
		return fmt.Sprintf("add {name: %s, value: %q} to spec.argoCDAgent.principal.env of ArgoCD %s/%s", s.variable, value, in.namespace, in.argocd)
	case in.release != "" && s.chart != "":
		return fmt.Sprintf("set value "+s.chart+" of Helm release %s/%s", value, in.namespace, in.release)
	}
	return ""
}
