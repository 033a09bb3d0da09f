// Package clients_test lets the clients that people have, ethers and viem, use chaind: they deploy,
// send, call, estimate, trace, filter and subscribe; and xrpl.js ledgersync. They come from npm, in
// the versions of package-lock.json.
package clients_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

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
	install(t, scripts, "a client")
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

// builds are the programs, each built once for all tests.
var builds processtest.Builds

func TestMain(m *testing.M) {
	code := m.Run()
	builds.Remove()
	os.Exit(code)
}

// patience bounds a command; it is reached only when one fails.
const patience = 10 * time.Minute

func run(t *testing.T, dir, program string, args ...string) {
	t.Helper()
	out, err := output(t, dir, program, args...)
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", program, args, err, out)
	}
	t.Logf("%s", out)
}

func output(t *testing.T, dir, program string, args ...string) (out []byte, err error) {
	ctx, cancel := context.WithTimeoutCause(t.Context(), patience, fmt.Errorf("it was still running after %v", patience))
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.WaitDelay = dir, 10*time.Second // for the output of what it has started
	out, err = cmd.CombinedOutput()
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return out, err
}

// install installs the packages of a folder. Where npm cannot reach its registry, what needs them is skipped.
func install(t *testing.T, dir, what string) {
	t.Helper()
	out, err := output(t, dir, "npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts")
	if err == nil {
		return
	}
	if unreachable.Match(out) {
		t.Skipf("npm cannot reach its registry, so %s is not tried:\n%s", what, out)
	}
	t.Fatalf("npm ci for %s: %v\n%s", what, err, out)
}

// unreachable is how npm says that there is no network; it has no exit code of its own for it.
var unreachable = regexp.MustCompile(`(?m)^npm (ERR!|error) (code|errno) (ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ENETUNREACH|EHOSTUNREACH|ETIMEDOUT|ERR_SOCKET_TIMEOUT|FETCH_ERROR)`)

// Only a registry that cannot be reached is a reason to skip.
func TestUnreachable(t *testing.T) {
	for text, want := range map[string]bool{
		"npm ERR! code ECONNREFUSED\nnpm ERR! syscall connect": true,
		"npm error code ENOTFOUND":                             true,
		"npm error code EINTEGRITY":                            false,
		"npm error code E404":                                  false,
		"npm error code EUSAGE\nnpm error ECONNREFUSED":        false,
	} {
		if got := unreachable.MatchString(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
