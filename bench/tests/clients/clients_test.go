// Package clients_test lets the clients that people have, ethers and viem, use chaind: they deploy,
// send, call, estimate, trace, filter and subscribe; and xrpl.js ledgersync. They come from npm, in
// the versions of package-lock.json.
package clients_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"dyno/parts/freeport"
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
	command := []string{builds.Program(t, "dyno/services/chain/cmd/chaind"), "serve", "--lame-duck=0", "--data=" + filepath.Join(t.TempDir(), "data")}
	free, err := freeport.Loopback(1)
	if err != nil {
		t.Fatal(err)
	}
	listen := free[0].String()
	command = append(command, "--listen="+listen)
	chaind := processtest.Start(t, command...)
	run(t, scripts, "node", "run.mjs", "http://"+listen)

	// A client that watches blocks finds the node again after kill -9 and a new start.
	watcher := exec.CommandContext(t.Context(), "node", "restart.mjs", "http://"+listen)
	watcher.Dir = scripts
	out, err := watcher.StdoutPipe()
	if err == nil {
		err = watcher.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	lines.Scan() // it watches
	chaind.Kill()
	chaind = processtest.Start(t, command...)
	for lines.Scan() {
		t.Log(lines.Text())
	}
	if err := watcher.Wait(); err != nil {
		t.Error("the client did not see a block after the restart: ", err)
	}
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
