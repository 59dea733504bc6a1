{{/* The name of all objects. A hub has one installation only, because its Leases and cluster-wide objects have fixed names. */}}
{{- define "mci.name" -}}multicluster-integrations{{- end -}}

{{- define "mci.labels" -}}
app.kubernetes.io/part-of: {{ include "mci.name" . }}
{{- end -}}

{{- define "mci.selector" -}}
app.kubernetes.io/name: {{ include "mci.name" . }}
{{- end -}}

{{/* Scheduling and image pull settings of every pod. */}}
{{- define "mci.pod" -}}
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* (dict "root" $ "c" container): the image's reference. */}}
{{- define "mci.image" -}}
{{- with .root.Values.image.registry }}{{ . }}/{{ end -}}
{{ .c.repository }}{{ if .c.digest }}@{{ .c.digest }}{{ else }}:{{ .c.tag }}{{ end }}
{{- end -}}

{{/* (dict "root" $ "file" path): objects generated from the code, with this release's namespaces and labels. */}}
{{- define "mci.generated" -}}
{{- $root := .root -}}
{{- range splitList "\n---\n" (printf "\n%s" ($root.Files.Get .file | replace "system:serviceaccount:multicluster-integrations:" (printf "system:serviceaccount:%s:" $root.Release.Namespace) | replace "argocd-agent-ca-argocd" (printf "argocd-agent-ca-%s" $root.Values.argocd.namespace))) }}
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

{{/* Nine tenths of a memory limit in MiB, as GOMEMLIMIT. */}}
{{- define "mci.memoryLimit" -}}
{{- $units := dict "" 1 "k" 1000 "M" 1000000 "G" 1000000000 "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 -}}
{{- $text := kindIs "float64" . | ternary (printf "%.0f" .) (toString .) -}}
{{- $unit := regexFind "[a-zA-Z]*$" $text -}}
{{- $number := trimSuffix $unit $text -}}
{{- printf "%dMiB" (int64 (divf (mulf (float64 $number) (float64 (get $units $unit)) 0.9) 1048576.0)) -}}
{{- end -}}

{{/* (dict "root" $ "name" name): the volume with the CA of the API server, the namespace, and the token of the container's own account. The pod's account is propagation's. */}}
{{- define "mci.token" -}}
name: {{ .name }}-token
projected:
  defaultMode: 0444
  sources:
    {{- if eq .name "propagation" }}
    - serviceAccountToken: {path: token, expirationSeconds: 3600}
    {{- else }}
    - secret:
        name: {{ include "mci.name" .root }}-{{ .name }}-token
        items: [{key: token, path: token}]
    {{- end }}
    - configMap:
        name: kube-root-ca.crt
        items: [{key: ca.crt, path: ca.crt}]
    - downwardAPI:
        items: [{path: namespace, fieldRef: {fieldPath: metadata.namespace}}]
    {{- if and .root.Values.openshift.serviceCA (eq .name "resourcesync") }}
    - configMap:
        name: openshift-service-ca.crt
        items: [{key: service-ca.crt, path: service-ca.crt}]
    {{- end }}
{{- end -}}

{{/* The parts of every container: (dict "root" $ "name" name "short" prefix of its ports "metrics" port "health" port "args" list "alone" in a separate pod). */}}
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
  {{- if and .root.Values.openshift.serviceCA (not .alone) }}
  - --metrics-cert-dir=/var/run/metrics-certificate
  {{- end }}
  {{- if and .root.Values.rendered.enabled (eq .name "aggregation") }}
  - --rendered
  {{- end }}
  {{- range $c.args }}
  - {{ quote . }}
  {{- end }}
ports:
  - {name: {{ .short }}-metrics, containerPort: {{ .metrics }}}
  - {name: {{ .short }}-health, containerPort: {{ .health }}}
  {{- if .page }}
  - {name: page, containerPort: 8446}
  {{- end }}
livenessProbe:
  httpGet: {path: /healthz, port: {{ .short }}-health}
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 3
readinessProbe:
  httpGet: {path: /readyz, port: {{ .short }}-health}
  periodSeconds: 5
  timeoutSeconds: 5
{{- with dig "limits" "memory" "" $c.resources }}
env:
  - {name: GOMEMLIMIT, value: {{ include "mci.memoryLimit" . }}}
{{- end }}
resources:
  {{- toYaml $c.resources | nindent 2 }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
{{- if not .alone }}
volumeMounts:
  - {name: {{ .name }}-token, mountPath: /var/run/secrets/kubernetes.io/serviceaccount, readOnly: true}
  {{- if .reports }}
  - {name: reports, mountPath: /var/run/multicluster-integrations{{ if eq .reports "read" }}, readOnly: true{{ end }}}
  {{- end }}
  {{- if .root.Values.openshift.serviceCA }}
  - {name: metrics-certificate, mountPath: /var/run/metrics-certificate, readOnly: true}
  {{- end }}
{{- end }}
{{- end -}}
