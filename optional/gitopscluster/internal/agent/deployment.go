// Copyright 2026 The multicluster-integrations Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

const clientCertificateVolume = "client-certificate"

// digest returns a digest of everything that the agent reads once, at its start. certificate names
// the client certificate that the managed cluster holds.
func digest(w Desired, certificate string) (string, error) {
	read, err := json.Marshal([]any{settingsFor(w), string(w.CABundle), certificate})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(read)
	return hex.EncodeToString(sum[:16]), nil
}

func deployment(w Desired, digest string) *appsv1.Deployment {
	d := &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: objectMeta(w.AgentNamespace, DeploymentName),
		Spec: appsv1.DeploymentSpec{
			Replicas: pointer(int32(1)),
			// The principal accepts only one agent of a name.
			Strategy: appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType},
			Selector: &metav1.LabelSelector{MatchLabels: podLabels()},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: podLabels(), Annotations: map[string]string{
					CertificatesAnnotation: digest, CABundleAnnotation: w.BundleDigest,
				}},
				Spec: corev1.PodSpec{
					ServiceAccountName: AddOnName,
					SecurityContext:    &corev1.PodSecurityContext{RunAsNonRoot: pointer(true), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
					Containers:         []corev1.Container{container(w)},
					Volumes: []corev1.Volume{{Name: clientCertificateVolume, VolumeSource: corev1.VolumeSource{
						Secret: &corev1.SecretVolumeSource{SecretName: ClientSecretName},
					}}},
				},
			},
		},
	}
	configure(d, w.Config)
	return d
}

func container(w Desired) corev1.Container {
	return corev1.Container{
		Name:  PodName,
		Image: w.Image,
		Args:  []string{"agent"},
		Env:   environment(w),
		Ports: []corev1.ContainerPort{
			{Name: "metrics", ContainerPort: metricsPort, Protocol: corev1.ProtocolTCP},
			{Name: "healthz", ContainerPort: healthPort, Protocol: corev1.ProtocolTCP},
		},
		// The probe's response is 200 only while the agent is connected, and feedback reports the
		// result. A liveness probe would restart an agent whose principal is unreachable.
		ReadinessProbe: &corev1.Probe{
			ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/healthz", Port: intstr.FromInt32(healthPort)}},
			PeriodSeconds: 5, FailureThreshold: 2,
		},
		SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: pointer(false),
			ReadOnlyRootFilesystem:   pointer(true),
			RunAsNonRoot:             pointer(true),
			Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		},
		VolumeMounts: []corev1.VolumeMount{{Name: clientCertificateVolume, MountPath: clientCertificateFolder, ReadOnly: true}},
	}
}

func environment(w Desired) []corev1.EnvVar {
	data := settingsFor(w)
	env := make([]corev1.EnvVar, 0, len(settings)+1)
	for _, s := range settings {
		if _, set := data[s.key]; set {
			env = append(env, corev1.EnvVar{Name: s.variable, ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{
				LocalObjectReference: corev1.LocalObjectReference{Name: SettingsName}, Key: s.key,
			}}})
		}
	}
	return append(env, corev1.EnvVar{Name: "REDIS_PASSWORD", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
		LocalObjectReference: corev1.LocalObjectReference{Name: cmp.Or(w.redis().SecretName, redisSecretName)}, Key: cmp.Or(w.redis().SecretKey, redisSecretKey), Optional: pointer(true),
	}}})
}

func pointer[T any](value T) *T { return &value }
