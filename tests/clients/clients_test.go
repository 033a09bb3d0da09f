// Package clients_test lets the clients that people have, ethers and viem, use chaind: they deploy,
// send, call, estimate, trace, filter and subscribe. They come from npm, in the versions of
// package-lock.json.
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
	chaind := processtest.Start(t, builds.Program(t, "dyno/cmd/chaind"), "serve", "--listen=127.0.0.1:0", "--lame-duck=0", "--data="+filepath.Join(t.TempDir(), "data"))
	run(t, scripts, "node", "run.mjs", "http://"+chaind.Ready()["listen"])
	processtest.Stop(t, chaind)
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
