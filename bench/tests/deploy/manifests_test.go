package deploy

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
	apps "k8s.io/api/apps/v1"
	autoscaling "k8s.io/api/autoscaling/v2"
	core "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"

	"dyno/parts/quicktest"
)

// kinds of objects that the manifests may have.
var kinds = map[string]func() any{
	"apps/v1 Deployment":                     func() any { return &apps.Deployment{} },
	"apps/v1 StatefulSet":                    func() any { return &apps.StatefulSet{} },
	"autoscaling/v2 HorizontalPodAutoscaler": func() any { return &autoscaling.HorizontalPodAutoscaler{} },
	"policy/v1 PodDisruptionBudget":          func() any { return &policy.PodDisruptionBudget{} },
	"v1 Service":                             func() any { return &core.Service{} },
}

// Every manifest is what Kubernetes takes, without an unknown or repeated field, and its pods stop
// and are limited as the services need.
func TestKubernetes(t *testing.T) {
	pods := 0
	for _, file := range glob(t, "kubernetes/*.yaml") {
		for document := range bytes.SplitSeq(read(t, file), []byte("\n---\n")) {
			var kind struct{ APIVersion, Kind string }
			if err := yaml.Unmarshal(document, &kind); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			known := kinds[kind.APIVersion+" "+kind.Kind]
			if known == nil {
				t.Errorf("%s: %s %s is no kind of these manifests", file, kind.APIVersion, kind.Kind)
				continue
			}
			object := known()
			if err := yaml.UnmarshalStrict(document, object); err != nil {
				t.Errorf("%s: %s: %v", file, kind.Kind, err)
			}
			switch o := object.(type) {
			case *apps.Deployment:
				pods++
				pod(t, file, o.Spec.Template, o.Spec.Selector.MatchLabels)
			case *apps.StatefulSet:
				pods++
				pod(t, file, o.Spec.Template, o.Spec.Selector.MatchLabels)
				if len(o.Spec.VolumeClaimTemplates) != 1 || *o.Spec.Replicas != 1 {
					t.Errorf("%s: a service with state on its disk is one replica with one claim", file)
				}
			case *autoscaling.HorizontalPodAutoscaler:
				metric := o.Spec.Metrics[0].External
				if metric == nil || !strings.HasSuffix(metric.Metric.Name, "_age_seconds") || metric.Target.Value.Cmp(resource.MustParse("1")) != 0 {
					t.Errorf("%s does not scale on the age of a queue, by the target of lab/diagnose/autoscale", file)
				}
			}
		}
	}
	if pods != len(services)-1 {
		t.Errorf("%d pods; arenad's is services/arena/agones/fleet.yaml", pods)
	}
}

// pod checks the template of a service's pods.
func pod(t *testing.T, file string, of core.PodTemplateSpec, selector map[string]string) {
	t.Helper()
	c := of.Spec.Containers[0]
	name := strings.TrimSuffix(filepath.Base(file), ".yaml")
	if c.Name != name || of.Labels["app"] != name || selector["app"] != name || of.Annotations["prometheus.io/job"] != name {
		t.Errorf("%s has the container %s, labels %v, annotations %v", file, c.Name, of.Labels, of.Annotations)
	}
	if c.ReadinessProbe.HTTPGet.Path != "/readyz" || c.LivenessProbe.HTTPGet.Path != "/healthz" || c.StartupProbe == nil {
		t.Errorf("%s: wrong probes", file)
	}
	stops := time.Duration(0)
	for _, arg := range c.Args {
		for _, flag := range []string{"--lame-duck=", "--drain-timeout="} {
			if value, is := strings.CutPrefix(arg, flag); is {
				length, err := time.ParseDuration(value)
				if err != nil {
					t.Errorf("%s: %v", file, err)
				}
				stops += length
			}
		}
	}
	if grace := time.Duration(*of.Spec.TerminationGracePeriodSeconds) * time.Second; stops < 15*time.Second || grace < stops+10*time.Second {
		t.Errorf("%s: killed after %v, while it takes up to %v to stop", file, grace, stops)
	}
	limit := c.Resources.Limits.Memory().Value()
	for _, env := range c.Env {
		if env.Name == "GOMEMLIMIT" {
			soft := resource.MustParse(strings.TrimSuffix(env.Value, "B"))
			if share := float64(soft.Value()) / float64(limit); share < 0.8 || share > 0.95 {
				t.Errorf("%s: GOMEMLIMIT is %.2f of the limit", file, share)
			}
			limit = 0
		}
	}
	if limit != 0 {
		t.Errorf("%s has no GOMEMLIMIT", file)
	}
	if s := c.SecurityContext; !*of.Spec.SecurityContext.RunAsNonRoot || !*s.ReadOnlyRootFilesystem || *s.AllowPrivilegeEscalation {
		t.Errorf("%s: the container may do too much", file)
	}
}

// composed loads compose.yaml as Docker does, with its schema and rules.
func composed(t testing.TB) *types.Project {
	t.Helper()
	options, err := cli.NewProjectOptions([]string{folder + "compose.yaml"}, cli.WithResolvedPaths(true))
	if err != nil {
		t.Fatal(err)
	}
	project, err := options.LoadProject(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return project
}

// The stack for one machine has every service, Prometheus scrapes all of them, no port is open
// beyond loopback, and what is mounted exists.
func TestCompose(t *testing.T) {
	var scraped struct {
		Jobs []struct {
			Name    string                       `json:"job_name"`
			Configs []struct{ Targets []string } `json:"static_configs"`
		} `json:"scrape_configs"`
	}
	if err := yaml.Unmarshal(read(t, folder+"prometheus/prometheus.yml"), &scraped); err != nil {
		t.Fatal(err)
	}
	compose := composed(t)
	for i, name := range services {
		if _, has := compose.Services[name]; !has || i >= len(scraped.Jobs) || scraped.Jobs[i].Name != name || scraped.Jobs[i].Configs[0].Targets[0] != name+":8081" {
			t.Errorf("%s is not started and scraped", name)
		}
	}
	for name, s := range compose.Services {
		for _, port := range s.Ports {
			if port.HostIP != "127.0.0.1" {
				t.Errorf("%s: port %s is open beyond loopback", name, port.Published)
			}
		}
		for _, volume := range s.Volumes {
			if _, err := os.Stat(volume.Source); volume.Type == types.VolumeTypeBind && err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if s.Build != nil && (time.Duration(*s.StopGracePeriod) < 32*time.Second || !s.ReadOnly) {
			t.Errorf("%s is killed after %v, while it takes up to 22 s to stop; read-only: %v", name, s.StopGracePeriod, s.ReadOnly)
		}
	}
}

// The flags in compose.yaml and the manifests exist.
func TestFlagsExist(t *testing.T) {
	quicktest.Skip(t, "builds five services")
	flags := regexp.MustCompile(`--[a-z][a-z-]+`)
	compose := composed(t)
	for _, name := range services {
		said, err := exec.Command(builds.Program(t, packageOf(name)), "serve", "--help").Output()
		if err != nil {
			t.Fatal(err)
		}
		asked := strings.Join(compose.Services[name].Command, " ")
		if manifest, err := os.ReadFile(folder + "kubernetes/" + name + ".yaml"); err == nil {
			asked += strings.Join(regexp.MustCompile(`(?m)^ +- (--\S+)`).FindAllString(string(manifest), -1), " ")
		}
		for _, flag := range flags.FindAllString(asked, -1) {
			if !strings.Contains(string(said), "  "+flag+" ") {
				t.Errorf("%s has no flag %s", name, flag)
			}
		}
	}
}

// Each unit is one that systemd accepts, keeps its service from the rest of the machine, and gives
// it time to stop.
func TestUnits(t *testing.T) {
	for _, name := range services {
		file := folder + "systemd/" + name + ".service"
		unit := string(read(t, file))
		for _, line := range []string{"DynamicUser=yes", "ProtectSystem=strict", "StateDirectory=" + name, "LimitNOFILE=65536", "NoNewPrivileges=yes", "CapabilityBoundingSet="} {
			if !strings.Contains(unit, "\n"+line+"\n") {
				t.Errorf("%s has no %s", file, line)
			}
		}
		stop := regexp.MustCompile(`(?m)^TimeoutStopSec=(\d+)$`).FindStringSubmatch(unit)
		if seconds, _ := strconv.Atoi(stop[1]); seconds < 2+20+10 {
			t.Errorf("%s: killed after %d s; lame duck and drain take up to 22", file, seconds)
		}
		t.Run(name, func(t *testing.T) {
			systemd := program(t, "systemd-analyze", "systemd")
			copied := filepath.Join(t.TempDir(), name+".service") // the program is not installed here
			if err := os.WriteFile(copied, []byte(strings.ReplaceAll(unit, "=/usr/local/bin/"+name, "=/bin/true")), 0o644); err != nil {
				t.Fatal(err)
			}
			said, err := exec.Command(systemd, "verify", copied).CombinedOutput()
			for line := range strings.Lines(string(said)) { // it also reads the units that are installed
				if err != nil || strings.Contains(line, name+".service") {
					t.Errorf("systemd-analyze verify: %v: %s", err, line)
				}
			}
			if err != nil {
				t.Errorf("systemd-analyze verify: %v", err)
			}
			if said, err := exec.Command(systemd, "security", "--offline=true", "--threshold=20", copied).CombinedOutput(); err != nil {
				t.Errorf("systemd-analyze security: %v\n%s", err, said)
			}
		})
	}
}

// The image is built of one stage that compiles, and one that has nothing but the program.
func TestDockerfile(t *testing.T) {
	file := string(read(t, folder+"Dockerfile"))
	last := file[strings.LastIndex(file, "\nFROM "):]
	for _, line := range []string{"FROM scratch\n", "USER 65532:65532\n", "ARG VERSION=", "ARG COMMIT=", "ENTRYPOINT [\"/service\"]\n", "STOPSIGNAL SIGTERM\n"} {
		if !strings.Contains(last, "\n"+line) {
			t.Errorf("the last stage has no %s", line)
		}
	}
	for _, from := range regexp.MustCompile(`(?m)^FROM (\S+)`).FindAllStringSubmatch(file, -1) {
		if strings.Contains(from[1], "/") {
			t.Errorf("image %s names a registry", from[1])
		}
	}
	asked := regexp.MustCompile(`(?m)^(\w+)`).FindAllString(strings.ReplaceAll(file, "\\\n", " "), -1)
	for _, instruction := range asked {
		if !strings.Contains(" FROM ARG WORKDIR COPY RUN LABEL USER VOLUME EXPOSE STOPSIGNAL ENTRYPOINT CMD ", " "+instruction+" ") {
			t.Errorf("%s is no instruction of this Dockerfile", instruction)
		}
	}
	for set := range strings.SplitSeq("buildVersion buildCommit", " ") {
		if !strings.Contains(file, "-X dyno/parts/command."+set+"=") || !strings.Contains(string(read(t, root+"/parts/command/command.go")), set) {
			t.Errorf("the linker sets no %s of parts/command", set)
		}
	}
}
