package k8stest

import (
	"maps"
	"regexp"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"sessionfold/deploy/k8stest/rendered"
)

func TestSelectorsMatchThePods(t *testing.T) {
	each(t, func(t *testing.T, d *rendered.Deployment) {
		pod := labels.Set(d.Set.Spec.Template.Labels)
		for name, s := range map[string]*metav1.LabelSelector{
			"StatefulSet": d.Set.Spec.Selector, "PodDisruptionBudget": d.Budget.Spec.Selector, "NetworkPolicy": &d.Network.Spec.PodSelector,
			"topologySpreadConstraints": d.Pod().TopologySpreadConstraints[0].LabelSelector,
		} {
			sel, err := metav1.LabelSelectorAsSelector(s)
			if err != nil || sel.Empty() || !sel.Matches(pod) {
				t.Errorf("the selector of %s is %q (%v), the pods are %v", name, sel, err, pod)
			}
		}
		for name, s := range d.Services {
			if sel := labels.SelectorFromSet(s.Spec.Selector); sel.Empty() || !sel.Matches(pod) {
				t.Errorf("Service %s selects %v, the pods are %v", name, s.Spec.Selector, pod)
			}
		}
	})
}

func TestNamesLead(t *testing.T) {
	each(t, func(t *testing.T, d *rendered.Deployment) {
		head := d.Services[d.Set.Spec.ServiceName]
		if head == nil || head.Spec.ClusterIP != corev1.ClusterIPNone || !head.Spec.PublishNotReadyAddresses {
			t.Errorf("serviceName %q is no headless Service that shows pods before they are ready", d.Set.Spec.ServiceName)
		}
		if d.Pod().ServiceAccountName != d.Account.Name {
			t.Errorf("serviceAccountName %q, the account is %q", d.Pod().ServiceAccountName, d.Account.Name)
		}
		ports := map[string]bool{}
		for _, p := range d.Folder().Ports {
			ports[p.Name] = true
		}
		named := map[string]intstr.IntOrString{}
		for name, s := range d.Services {
			for _, p := range s.Spec.Ports {
				named["Service "+name+" "+p.Name] = p.TargetPort
			}
		}
		for _, r := range d.Network.Spec.Ingress {
			named["NetworkPolicy "+r.Ports[0].Port.String()] = *r.Ports[0].Port
		}
		for who, p := range named {
			if p.Type != intstr.String || !ports[p.StrVal] {
				t.Errorf("%s names port %s, the container has %v", who, p.String(), slices.Sorted(maps.Keys(ports)))
			}
		}
		volumes := map[string]bool{}
		for _, v := range d.Pod().Volumes {
			volumes[v.Name] = true
			if c := v.ConfigMap; c != nil && d.Configs[c.Name] == nil {
				t.Errorf("volume %s names ConfigMap %s, which is not there", v.Name, c.Name)
			}
		}
		for _, c := range d.Set.Spec.VolumeClaimTemplates {
			volumes[c.Name] = true
		}
		for _, m := range d.Folder().VolumeMounts {
			if !volumes[m.Name] {
				t.Errorf("mount %s has no volume", m.Name)
			}
			delete(volumes, m.Name)
		}
		if len(volumes) > 0 {
			t.Errorf("volumes %v are not mounted", slices.Sorted(maps.Keys(volumes)))
		}
	})
}

func TestThePodIsConfined(t *testing.T) {
	each(t, func(t *testing.T, d *rendered.Deployment) {
		p, c := d.Pod(), d.Folder()
		for what, ok := range map[string]bool{
			"runAsNonRoot":                   isTrue(p.SecurityContext.RunAsNonRoot),
			"a user that is not root":        p.SecurityContext.RunAsUser != nil && *p.SecurityContext.RunAsUser > 0,
			"fsGroup":                        p.SecurityContext.FSGroup != nil,
			"seccomp RuntimeDefault":         p.SecurityContext.SeccompProfile != nil && p.SecurityContext.SeccompProfile.Type == corev1.SeccompProfileTypeRuntimeDefault,
			"no privilege escalation":        isFalse(c.SecurityContext.AllowPrivilegeEscalation),
			"a read-only root":               isTrue(c.SecurityContext.ReadOnlyRootFilesystem),
			"no capabilities":                slices.Equal(c.SecurityContext.Capabilities.Drop, []corev1.Capability{"ALL"}) && len(c.SecurityContext.Capabilities.Add) == 0,
			"no token of the pod":            isFalse(p.AutomountServiceAccountToken),
			"no token of the account":        isFalse(d.Account.AutomountServiceAccountToken),
			"no variables of other Services": isFalse(p.EnableServiceLinks),
			"no host network":                !p.HostNetwork && !p.HostPID && !p.HostIPC,
			"both directions of the network": len(d.Network.Spec.PolicyTypes) == 2 && len(d.Network.Spec.Egress) > 0 && len(d.Network.Spec.Ingress) > 0,
		} {
			if !ok {
				t.Errorf("the pod lacks: %s", what)
			}
		}
	})
}

func isTrue(b *bool) bool { return b != nil && *b }

func isFalse(b *bool) bool { return b != nil && !*b }

func TestTheSetKeepsIdentityAndData(t *testing.T) {
	each(t, func(t *testing.T, d *rendered.Deployment) {
		s := d.Set.Spec
		if s.PodManagementPolicy != "Parallel" || s.UpdateStrategy.Type != "RollingUpdate" {
			t.Errorf("podManagementPolicy %s, updateStrategy %s", s.PodManagementPolicy, s.UpdateStrategy.Type)
		}
		if r := s.PersistentVolumeClaimRetentionPolicy; r == nil || r.WhenDeleted != "Retain" || r.WhenScaled != "Retain" {
			t.Error("a volume would go with its pod")
		}
		if d.Budget.Spec.MaxUnavailable == nil || d.Budget.Spec.MaxUnavailable.IntValue() != 1 {
			t.Error("more than one worker may be evicted at once")
		}
		i := slices.IndexFunc(d.Folder().Env, func(e corev1.EnvVar) bool { return e.Name == "FOLDER_KAFKA_INSTANCE" })
		if i < 0 || d.Folder().Env[i].ValueFrom == nil || d.Folder().Env[i].ValueFrom.FieldRef.FieldPath != "metadata.name" {
			t.Error("the membership is not that of the pod's name")
		}
	})
}

var secretName = regexp.MustCompile(`(?i)(password|secret|token|credential|private_?key)s?$`)

// TestNoSecretIsInline: secrets are files from Secret objects that are none of ours.
func TestNoSecretIsInline(t *testing.T) {
	field := regexp.MustCompile(`(?im)^\s*(\S*(?:password|secret|token))\s*:`)
	each(t, func(t *testing.T, d *rendered.Deployment) {
		for _, e := range d.Folder().Env {
			if secretName.MatchString(e.Name) {
				t.Errorf("variable %s holds a secret: mount a file", e.Name)
			}
		}
		for _, a := range d.Folder().Args {
			if regexp.MustCompile(`(?i)password=|secret=|token=`).MatchString(a) {
				t.Errorf("argument %s holds a secret", a)
			}
		}
		for name, c := range d.Configs {
			for file, text := range c.Data {
				if m := field.FindStringSubmatch(text); m != nil {
					t.Errorf("ConfigMap %s, %s: %s is a secret: use the file of that name", name, file, m[1])
				}
			}
		}
	})
}
