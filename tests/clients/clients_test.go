// Package clients_test lets the clients that people have, ethers and viem, use a chain node. They
// come from npm, in the versions of package-lock.json.
//
// The plain program has what the ladder's load needs, so they do no more with it than to send,
// wait, and follow heads; run.mjs has more checks, which need contracts, logs, filters and traces.
package clients_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"dyno/parts/process/processtest"
	"dyno/parts/quicktest"
)

func TestClients(t *testing.T) {
	quicktest.Skip(t, "installs packages from npm")
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("no %s in PATH, so no client is tried; on Debian: apt-get install nodejs npm", program)
		}
	}
	scripts := t.TempDir()
	if err := os.CopyFS(scripts, os.DirFS(".")); err != nil {
		t.Fatal(err)
	}
	run(t, scripts, "npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts")
	var builds processtest.Builds
	defer builds.Remove()
	plain := processtest.Start(t, builds.Program(t, "dyno/services/chain/plain"), "--listen=127.0.0.1:0", "--lame-duck=0", "--data="+filepath.Join(t.TempDir(), "data"))
	run(t, scripts, "node", "run.mjs", "http://"+plain.Ready()["listen"], "chain", "transfer", "array", "refusal", "subscribe to heads")
	processtest.Stop(t, plain)
}

func run(t *testing.T, dir, program string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", program, args, err, out)
	}
	t.Logf("%s", out)
}
