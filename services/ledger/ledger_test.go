package ledger

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	flag.Set("test.parallel", "16") // they wait for servers that are slow or gone more than they compute
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		os.RemoveAll(binaries)
		os.Exit(code)
	}))
}

// build builds the program, once for all tests.
var build = sync.OnceValues(func() (path string, err error) {
	if binaries, err = os.MkdirTemp("", "ledgersync"); err != nil {
		return "", err
	}
	path = filepath.Join(binaries, "ledgersync")
	if out, err := exec.Command("go", "build", "-o", path, "dyno/services/ledger/cmd/ledgersync").CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return path, nil
})

// binaries is the folder of what build built; TestMain removes it.
var binaries string

func built(t testing.TB) string {
	t.Helper()
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return path
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
