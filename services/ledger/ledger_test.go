package ledger

import (
	"bytes"
	"flag"
	"os"
	"testing"

	"go.uber.org/goleak"

	"dyno/parts/process/processtest"
)

var builds processtest.Builds

func TestMain(m *testing.M) {
	flag.Set("test.parallel", "16") // they wait for servers that are slow or gone more than they compute
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		builds.Remove()
		os.Exit(code)
	}))
}

func TestAssembly(t *testing.T) {
	if err := Assembly().Check(); err != nil {
		t.Fatal(err)
	}
}

// The settings that users have written down keep their names, defaults and bounds.
func TestAssembliesStay(t *testing.T) {
	want, err := os.ReadFile("testdata/assemblies.json")
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := Service().Assembly.Print(&got, Service().Name, true); err != nil || !bytes.Equal(got.Bytes(), want) {
		t.Errorf("%v; assemblies --json prints\n%s", err, &got)
	}
}
