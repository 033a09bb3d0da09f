// Package extension_test lets a real extension of a real Chromium call nodes, as a wallet does.
package extension_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"dyno/bench/tests/browser"
	"dyno/parts/freeport"
	"dyno/parts/process/processtest"
	"dyno/parts/quicktest"
)

// said is what the extension says that it got of a node.
type said struct{ Post, Socket string }

// A wallet reaches a node as it is, also beside pages that are listed; a page of another origin
// reaches neither.
func TestWallet(t *testing.T) {
	quicktest.Skip(t, "starts a browser")
	browser.Installed(t)
	var builds processtest.Builds
	defer builds.Remove()
	program := builds.Program(t, "dyno/services/chain/cmd/chaind")
	free, err := freeport.Loopback(2)
	if err != nil {
		t.Fatal(err)
	}
	nodes := map[string]string{"plain": free[0].String(), "listed": free[1].String()}
	for name, flags := range map[string][]string{"plain": nil, "listed": {"--http-corsdomain=https://shop.example", "--ws-origins=https://shop.example"}} {
		command := append([]string{program, "serve", "--lame-duck=0", "--data=" + filepath.Join(t.TempDir(), "data"), "--listen=" + nodes[name]}, flags...)
		node := processtest.Start(t, command...)
		defer processtest.Stop(t, node)
	}

	answers := make(chan []byte, 1)
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			io.WriteString(w, "<title>a page</title>")
			return
		}
		text, _ := io.ReadAll(r.Body) // cut off, it is no JSON
		answers <- text
	}))
	defer page.Close()
	wallet := t.TempDir()
	if err := os.CopyFS(wallet, os.DirFS("testdata/wallet")); err != nil {
		t.Fatal(err)
	}
	addresses, err := json.Marshal(nodes)
	if err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf("const nodes = %s, answers = %q;\n", addresses, page.URL)
	if err := os.WriteFile(filepath.Join(wallet, "addresses.js"), []byte(script), 0o644); err != nil {
		t.Fatal(err)
	}

	tab := browser.Start(t, chromedp.Flag("load-extension", wallet), chromedp.Flag("disable-features", "DisableLoadExtensionCommandLineSwitch"))
	browser.Visit(t, tab, page.URL)
	var text []byte
	select {
	case text = <-answers:
	case <-tab.Done():
		t.Fatal("the extension said nothing")
	}
	var got struct {
		Origin        string
		Plain, Listed said
	}
	if err := json.Unmarshal(text, &got); err != nil || !strings.HasPrefix(got.Origin, "chrome-extension://") {
		t.Fatalf("%v: %s", err, text)
	}
	for name, s := range map[string]said{"plain": got.Plain, "listed": got.Listed} {
		if !strings.HasPrefix(s.Post, `200 {"jsonrpc":"2.0","id":1,"result":"0x`) || !strings.Contains(s.Socket, `"result":"0x0"`) {
			t.Errorf("%s: %+v", name, s)
		}
	}
	ask := fmt.Sprintf(`fetch("http://%s", {method: "POST", headers: {"Content-Type": "application/json"}, body: "{}"}).then(() => "read it", () => "refused")`, nodes["listed"])
	if answer := browser.Ask[string](t, tab, ask); answer != "refused" {
		t.Errorf("a page that is not listed %s", answer)
	}
}
