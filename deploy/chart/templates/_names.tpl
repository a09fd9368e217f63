{{- define "tidegate.name" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{- define "tidegate.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- else if contains (include "tidegate.name" .) .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "tidegate.name" .) | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* Immutable once installed: a version, or anything else that changes, must not be among them. */}}
{{- define "tidegate.selector" -}}
app.kubernetes.io/name: {{ include "tidegate.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "tidegate.labels" -}}
{{ include "tidegate.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "tidegate.image" -}}
{{- $tag := .Values.image.tag | default .Chart.AppVersion -}}
{{- if .Values.image.digest -}}
{{- printf "%s:%s@%s" .Values.image.repository $tag .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository $tag -}}
{{- end -}}
{{- end -}}

{{/*
What runs, as JSON: on SQLite one process for all kinds, on PostgreSQL one workload a kind. Each has a
suffix for names, its kinds, what it may act on, and its settings. One that runs no kind serves the API.
*/}}
{{- define "tidegate.workers" -}}
{{- $enabled := list -}}
{{- range $kind := list "integrations" "policies" "upgrades" "promotions" -}}
{{- if (index $.Values.kinds $kind).enabled -}}{{- $enabled = append $enabled $kind -}}{{- end -}}
{{- end -}}
{{- $parts := list -}}
{{- if or (eq .Values.database.type "sqlite") (not $enabled) -}}
{{- $parts = append $parts (dict "suffix" "" "kinds" $enabled) -}}
{{- else -}}
{{- range $kind := $enabled -}}
{{- $parts = append $parts (dict "suffix" (printf "-%s" $kind) "kinds" (list $kind)) -}}
{{- end -}}
{{- end -}}
{{- range $part := $parts -}}
{{- $act := list -}}
{{- $settings := deepCopy $.Values.settings -}}
{{- range $kind := $part.kinds -}}
{{- $of := index $.Values.kinds $kind -}}
{{- $act = concat $act $of.act -}}
{{- $settings = mergeOverwrite $settings (deepCopy $of.settings) -}}
{{- if eq $kind "policies" -}}
{{- $hub := ternary "/etc/tidegate/hub/kubeconfig" "/etc/tidegate/config/in-cluster.kubeconfig" (ne $of.hubSecret.name "") -}}
{{- $_ := set $settings "hub" $hub -}}
{{- end -}}
{{- end -}}
{{- if $act -}}{{- $_ := set $settings "act" (concat ($settings.act | default list) $act) -}}{{- end -}}
{{- if hasKey $settings "grace" -}}{{- fail "settings.grace: write graceSeconds instead, which the pod is given to end, too" -}}{{- end -}}
{{- $_ := set $settings "grace" (printf "%ds" (int $.Values.graceSeconds)) -}}
{{- $_ := set $part "settings" $settings -}}
{{- $_ := set $part "name" (printf "%s%s" (include "tidegate.fullname" $) $part.suffix) -}}
{{- $token := false -}}
{{- if has "integrations" $part.kinds -}}{{- $token = true -}}{{- end -}}
{{- if and (has "policies" $part.kinds) (not $.Values.kinds.policies.hubSecret.name) -}}{{- $token = true -}}{{- end -}}
{{- if $.Values.access.tokenReviews -}}{{- $token = true -}}{{- end -}}
{{- $_ := set $part "token" $token -}}
{{- end -}}
{{- toJson $parts -}}
{{- end -}}
