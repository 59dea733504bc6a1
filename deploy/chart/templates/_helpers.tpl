{{/* The one name of everything: there is one installation on a hub, since its leases and cluster-wide objects have fixed names. */}}
{{- define "mci.name" -}}multicluster-integrations{{- end -}}

{{- define "mci.labels" -}}
app.kubernetes.io/part-of: {{ include "mci.name" . }}
{{- end -}}

{{- define "mci.selector" -}}
app.kubernetes.io/name: {{ include "mci.name" . }}
{{- end -}}

{{/* (dict "root" $ "c" container): the image's reference. */}}
{{- define "mci.image" -}}
{{- with .root.Values.image.registry }}{{ . }}/{{ end -}}
{{ .c.repository }}{{ if .c.digest }}@{{ .c.digest }}{{ else }}:{{ .c.tag }}{{ end }}
{{- end -}}

{{/* (dict "root" $ "file" path): objects generated from the code, with this release's namespaces and labels. */}}
{{- define "mci.generated" -}}
{{- $root := .root -}}
{{- range splitList "\n---\n" (printf "\n%s" ($root.Files.Get .file)) }}
{{- $o := fromYaml . }}
{{- if $o.kind }}
{{- $namespace := $o.metadata.namespace }}
{{- if eq "argocd" (default "" $namespace) }}
{{- $_ := set $o.metadata "namespace" $root.Values.argocd.namespace }}
{{- else if $namespace }}
{{- $_ := set $o.metadata "namespace" $root.Release.Namespace }}
{{- end }}
{{- range $o.subjects }}
{{- $_ := set . "namespace" $root.Release.Namespace }}
{{- end }}
{{- $_ := set $o.metadata "labels" (include "mci.labels" $root | fromYaml) }}
---
{{ toYaml $o }}
{{- end }}
{{- end }}
{{- end -}}

{{/* What every container has: (dict "root" $ "name" name "short" prefix of its ports "metrics" port "health" port "args" list). */}}
{{- define "mci.container" -}}
{{- $c := index .root.Values .name -}}
name: {{ .name }}
image: {{ include "mci.image" (dict "root" .root "c" $c) }}
{{- if ne "IfNotPresent" .root.Values.image.pullPolicy }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
{{- end }}
args:
  {{- range .args }}
  - {{ . }}
  {{- end }}
  {{- if .root.Values.openshift.serviceCA }}
  - --metrics-cert-dir=/var/run/metrics-certificate
  {{- end }}
  {{- range $c.args }}
  - {{ quote . }}
  {{- end }}
ports:
  - {name: {{ .short }}-metrics, containerPort: {{ .metrics }}}
  - {name: {{ .short }}-health, containerPort: {{ .health }}}
livenessProbe:
  httpGet: {path: /healthz, port: {{ .short }}-health}
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 3
readinessProbe:
  httpGet: {path: /readyz, port: {{ .short }}-health}
  periodSeconds: 5
  timeoutSeconds: 5
resources:
  {{- toYaml $c.resources | nindent 2 }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
volumeMounts:
  - {name: token, mountPath: /var/run/secrets/kubernetes.io/serviceaccount, readOnly: true}
  {{- if .reports }}
  - {name: reports, mountPath: /var/run/multicluster-integrations{{ if eq .reports "read" }}, readOnly: true{{ end }}}
  {{- end }}
  {{- if .root.Values.openshift.serviceCA }}
  - {name: metrics-certificate, mountPath: /var/run/metrics-certificate, readOnly: true}
  {{- end }}
{{- end -}}
