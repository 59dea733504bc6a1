// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"slices"
	"strconv"
	"strings"

	"open-cluster-management.io/multicluster-integrations/optional/gitopscluster/api/v1beta1"
)

// Version is the version of argocd-agent to which these settings belong. A test compares them with
// testdata/argocd-agent-<version>.tsv, which lists every variable that the agent reads.
const Version = "v0.9.0"

const (
	// redisSecretName and redisSecretKey are where Argo CD keeps the password of its Redis.
	redisSecretName = "argocd-redis" //nolint:gosec // a name
	redisSecretKey  = "auth"

	clientCertificateFolder = "/app/config/client-certificate"
	healthPort              = 8001
	metricsPort             = 8181
)

// setting is one entry of the agent's ConfigMap and the variable that reads it.
type setting struct {
	key, variable string
	value         func(Desired) string
}

func always(value string) func(Desired) string { return func(Desired) string { return value } }

// managed returns a setting's value in managed mode. An empty value leaves the setting out.
func managed(value string) func(Desired) string {
	return func(w Desired) string {
		if w.Mode != ModeManaged {
			return ""
		}
		return value
	}
}

// settings are the settings of the agent that it would otherwise guess, or that have an unsuitable
// default.
var settings = []setting{
	{"agent.server.address", "ARGOCD_AGENT_REMOTE_SERVER", func(w Desired) string { return w.Address }},
	{"agent.server.port", "ARGOCD_AGENT_REMOTE_PORT", func(w Desired) string { return strconv.Itoa(int(w.Port)) }},
	{"agent.mode", "ARGOCD_AGENT_MODE", func(w Desired) string { return w.Mode }},
	{"agent.namespace", "ARGOCD_AGENT_NAMESPACE", func(w Desired) string { return w.AgentNamespace }},
	{"agent.creds", "ARGOCD_AGENT_CREDS", always("mtls:any")},
	{"agent.tls.root-ca-secret-name", "ARGOCD_AGENT_TLS_ROOT_CA_SECRET_NAME", always(CASecretName)},
	// The Secret is mounted. By name, the agent would refuse a Secret of another type than
	// kubernetes.io/tls, but the registration agent writes Secrets of type Opaque. Without the
	// mount, the Secret would have to be copied.
	{"agent.tls.client.cert-path", "ARGOCD_AGENT_TLS_CLIENT_CERT_PATH", always(clientCertificateFolder + "/tls.crt")},
	{"agent.tls.client.key-path", "ARGOCD_AGENT_TLS_CLIENT_KEY_PATH", always(clientCertificateFolder + "/tls.key")},
	{"agent.healthz.port", "ARGOCD_AGENT_HEALTH_CHECK_PORT", always(strconv.Itoa(healthPort))},
	{"agent.metrics.port", "ARGOCD_AGENT_METRICS_PORT", always(strconv.Itoa(metricsPort))},
	{"agent.destination-based-mapping", "ARGOCD_AGENT_DESTINATION_BASED_MAPPING", managed("true")},
	{"agent.create-namespace", "ARGOCD_AGENT_CREATE_NAMESPACE", func(w Desired) string {
		return managed(strconv.FormatBool(w.Settings.CreateNamespace))(w)
	}},
	{"agent.allowed-namespaces", "ARGOCD_AGENT_ALLOWED_NAMESPACES", func(w Desired) string {
		return strings.Join(slices.Sorted(slices.Values(w.Settings.AllowedNamespaces)), ",")
	}},
	{"agent.keep-alive.interval", "ARGOCD_AGENT_KEEP_ALIVE_PING_INTERVAL", func(w Desired) string {
		if w.KeepAlive == 0 {
			return ""
		}
		return w.KeepAlive.String()
	}},
	{"agent.redis.address", "REDIS_ADDR", func(w Desired) string { return w.redis().Address }},
	{"agent.redis.tls.enabled", "ARGOCD_AGENT_REDIS_TLS_ENABLED", func(w Desired) string { return whenTLS(w, "true") }},
	{"agent.redis.tls.ca-secret-name", "ARGOCD_AGENT_REDIS_TLS_CA_SECRET_NAME", func(w Desired) string { return w.redis().CASecretName }},
	// Pulled Applications on the same cluster do not belong to the agent. An autonomous agent would
	// not observe its own ones.
	{"agent.ignore-unmanaged-apps", "ARGOCD_AGENT_IGNORE_UNMANAGED_APPS", managed("true")},
	// A restored hub has objects with new UIDs. By default the agent would then delete and
	// re-create every Application.
	{"agent.source-uid-mismatch-policy", "ARGOCD_AGENT_SOURCE_UID_MISMATCH_POLICY", always("upsert")},
}

func (w Desired) redis() v1beta1.AgentRedis {
	if w.Settings.Redis == nil {
		return v1beta1.AgentRedis{}
	}
	return *w.Settings.Redis
}

func whenTLS(w Desired, value string) string {
	if w.redis().CASecretName == "" {
		return ""
	}
	return value
}

// settingsFor returns the ConfigMap's data.
func settingsFor(w Desired) map[string]string {
	data := map[string]string{}
	for _, s := range settings {
		if value := s.value(w); value != "" {
			data[s.key] = value
		}
	}
	return data
}
