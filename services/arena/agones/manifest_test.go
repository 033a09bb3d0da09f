package agones

import (
	"bytes"
	_ "embed"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"dyno/services/arena/fleet"
)

//go:embed fleet.yaml
var manifest []byte

// object is what the tests read of an object of Kubernetes.
type object struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string
	Metadata   struct{ Name string }
	Spec       struct {
		Replicas int
		Template struct { // of a Fleet
			Spec struct {
				Ports []struct {
					PortPolicy    string `yaml:"portPolicy"`
					ContainerPort int    `yaml:"containerPort"`
					Protocol      string
				}
				Health struct {
					PeriodSeconds    int `yaml:"periodSeconds"`
					FailureThreshold int `yaml:"failureThreshold"`
				}
				Counters map[string]struct{ Count, Capacity int }
				Template struct {
					Metadata struct{ Labels map[string]string }
					Spec     struct {
						Containers []struct{ Args []string }
					}
				}
			}
		}
		Priorities []struct{ Type, Key string }
		Selector   map[string]string // of a Service
		Ports      []struct{ Port int }
		FleetName  string `yaml:"fleetName"` // of a FleetAutoscaler
		Policy     struct {
			Type    string
			Counter struct {
				Key         string
				BufferSize  int `yaml:"bufferSize"`
				MinCapacity int `yaml:"minCapacity"`
				MaxCapacity int `yaml:"maxCapacity"`
			}
		}
	}
}

// The manifest agrees with itself, with this package and with the flags of fleet.
func TestManifest(t *testing.T) {
	objects := map[string]object{}
	for documents := yaml.NewDecoder(bytes.NewReader(manifest)); ; {
		var o object
		err := documents.Decode(&o)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		objects[o.APIVersion+" "+o.Kind] = o
	}
	servers, found := objects["agones.dev/v1 Fleet"]
	names, foundNames := objects["v1 Service"]
	scaler, foundScaler := objects["autoscaling.agones.dev/v1 FleetAutoscaler"]
	if len(objects) != 3 || !found || !foundNames || !foundScaler {
		t.Fatalf("the manifest has %v", objects)
	}

	spec := servers.Spec.Template.Spec
	args := spec.Template.Spec.Containers[0].Args
	var nodes fleet.Flags
	var on bool
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	nodes.Declare(set)
	Declare(set, &on)
	for _, other := range []string{"listen", "data", "auth-key"} { // of arenad
		set.String(other, "", "")
	}
	if err := set.Parse(args[1:]); err != nil || args[0] != "serve" || !on || nodes.Alone() {
		t.Fatalf("%v: %v", args, err)
	}
	value := func(flag string) string { return set.Lookup(flag).Value.String() }

	if p := spec.Ports[0]; p.ContainerPort != 8080 || p.PortPolicy != "Dynamic" || p.Protocol != "TCP" || value("listen") != "0.0.0.0:8080" {
		t.Errorf("port %+v and --listen %s", p, value("listen"))
	}
	if silent := spec.Health.PeriodSeconds * spec.Health.FailureThreshold; silent < 3*int(Pace.Seconds()) {
		t.Errorf("a server is replaced after %d s, within three reports", silent)
	}
	if c, ok := spec.Counters[Counter]; !ok || c.Capacity == 0 {
		t.Errorf("counters %v", spec.Counters)
	}
	if p := servers.Spec.Priorities[0]; p.Type != "Counter" || p.Key != Counter {
		t.Errorf("priority %+v", p)
	}
	c := scaler.Spec.Policy.Counter
	if scaler.Spec.FleetName != servers.Metadata.Name || scaler.Spec.Policy.Type != "Counter" || c.Key != Counter ||
		c.BufferSize == 0 || c.MinCapacity < c.BufferSize || c.MaxCapacity < c.MinCapacity {
		t.Errorf("autoscaler %+v", scaler.Spec)
	}
	if port := names.Spec.Ports[0].Port; port != 7400 || value("cluster") != "0.0.0.0:7400" || value("route") != "["+names.Metadata.Name+":7400]" {
		t.Errorf("--cluster %s, --route %s, port %d", value("cluster"), value("route"), port)
	}
	for key, label := range names.Spec.Selector {
		if spec.Template.Metadata.Labels[key] != label {
			t.Errorf("the service selects %s=%s, which pods do not have", key, label)
		}
	}
	if !slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "--auth-key=") }) {
		t.Error("beyond loopback arenad must ask for tokens")
	}
}
