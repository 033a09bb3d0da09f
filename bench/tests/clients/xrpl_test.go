package clients_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"dyno/parts/freeport"
	"dyno/parts/process/processtest"
	"dyno/parts/quicktest"
)

// The release lines of xrpl.js connect to ledgersync and read from it, on a network that the
// servers named, and on one that a flag names.
func TestXRPL(t *testing.T) {
	quicktest.Skip(t, "installs packages from npm")
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("no %s in PATH, so no client is tried; on Debian: apt-get install nodejs npm", program)
		}
	}
	scripts := t.TempDir()
	if err := os.CopyFS(scripts, os.DirFS("xrpl")); err != nil {
		t.Fatal(err)
	}
	install(t, scripts, "xrpl.js")
	ledgersync := builds.Program(t, "dyno/services/ledger/cmd/ledgersync")
	free, err := freeport.Loopback(2)
	if err != nil {
		t.Fatal(err)
	}
	source, listen, data := free[0].String(), free[1].String(), filepath.Join(t.TempDir(), "data")
	sim := processtest.Start(t, ledgersync, "sim", "--listen="+source, "--ledgers=20")
	run(t, scripts, ledgersync, "sync", "--from=90000001", "--to=90000020", "--server=http://"+source, "--data="+data)
	processtest.Stop(t, sim)
	for network, flags := range map[string][]string{"0": nil, "21337": {"--network-id=21337"}} {
		serve := processtest.Start(t, append([]string{ledgersync, "serve", "--lame-duck=0", "--data=" + data, "--listen=" + listen}, flags...)...)
		run(t, scripts, "node", "connect.mjs", "ws://"+listen, network)
		processtest.Stop(t, serve)
	}
}
