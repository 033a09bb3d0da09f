package chain_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"dyno/parts/guard/guardtest"
)

// wallet is the origin of an extension of Firefox, whose name is made up at installation.
const wallet = "moz-extension://3b7c64d8-9a0e-4f5d-8c1b-6e2f7a9d0c54"

const version = `{"jsonrpc":"2.0","id":1,"method":"net_version"}`

// dial opens a WebSocket for a page; "": for a program.
func (n *node) dial(origin string) (*websocket.Conn, int) {
	n.t.Helper()
	header := http.Header{}
	if origin != "" {
		header.Set("Origin", origin)
	}
	c, resp, err := websocket.Dial(n.t.Context(), "ws://"+n.listen, &websocket.DialOptions{HTTPHeader: header})
	if resp == nil {
		n.t.Fatal(err)
	}
	return c, resp.StatusCode
}

// Without flags the node answers programs, and pages of this machine.
func TestDoors(t *testing.T) {
	t.Parallel()
	n := serve(t, "--data", imported(t, public), "--read-only")
	for _, c := range []struct {
		header []string
		status int
		says   string
	}{
		{nil, 200, `"result":"3503995874084926"`},
		{[]string{"Content-Type", "application/json; charset=utf-8"}, 200, `"result"`},
		{[]string{"Host", "localhost:8545"}, 200, `"result"`},
		{[]string{"Origin", "http://localhost:3000"}, 200, `"result"`},
		{[]string{"Origin", "https://127.0.0.1", "Sec-Fetch-Site", "cross-site"}, 200, `"result"`},
		{[]string{"Origin", wallet, "Sec-Fetch-Site", "none"}, 200, `"result"`},
		{[]string{"Origin", "app://wallet"}, 403, "--http-corsdomain"},
		{[]string{"Content-Type", "text/plain"}, 415, "application/json"},
		{[]string{"Content-Type", "application/x-www-form-urlencoded"}, 415, "application/json"},
		{[]string{"Content-Encoding", "gzip"}, 415, "compressed"},
		{[]string{"Host", "rebound.example"}, 421, "--http-vhosts"},
		{[]string{"Origin", "https://evil.example"}, 403, "--http-corsdomain"},
		{[]string{"Origin", "null"}, 403, "--http-corsdomain"},
		{[]string{"Origin", "http://localhost.evil.example"}, 403, "--http-corsdomain"},
	} {
		if status, text := n.post(version, c.header...); status != c.status || !strings.Contains(string(text), c.says) {
			t.Errorf("%v: %d %s", c.header, status, text)
		}
	}
	for origin, want := range map[string]int{"": 101, "http://localhost:3000": 101, wallet: 101, "app://wallet": 403, "https://evil.example": 403} {
		c, status := n.dial(origin)
		if status != want {
			t.Errorf("a WebSocket of %q: %d", origin, status)
		}
		if c != nil {
			c.CloseNow()
		}
	}
	if resp, err := http.Get("http://" + n.listen); err != nil || resp.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("GET: %v %v", resp, err)
	}
}

// The flags replace what is permitted without them, for POST and for WebSockets apart.
func TestDoorFlags(t *testing.T) {
	t.Parallel()
	const shop = "https://shop.example"
	n := serve(t, "--data", imported(t, public), "--read-only", "--http-corsdomain", shop, "--ws-origins", "https://live.example", "--http-vhosts", "api.example")
	guardtest.Refuses(t, http.DefaultClient, http.MethodPost, "http://"+n.listen, version)
	for _, origin := range []string{shop, wallet} {
		guardtest.Allows(t, http.DefaultClient, http.MethodPost, "http://"+n.listen, version, origin)
	}
	if status, _ := n.post(version, "Host", "api.example"); status != 200 {
		t.Errorf("a listed name: %d", status)
	}
	for origin, want := range map[string]int{"https://live.example": 101, wallet: 101, shop: 403, "http://localhost:3000": 403} {
		c, status := n.dial(origin)
		if status != want {
			t.Errorf("a WebSocket of %q: %d", origin, status)
		}
		if c != nil {
			c.CloseNow()
		}
	}
	n.stop()
	n = serve(t, "--data", imported(t, public), "--read-only", "--http-corsdomain=*", "--http-vhosts=*")
	if status, text := n.post(version, "Host", "any.example", "Origin", "https://evil.example"); status != 200 {
		t.Errorf("with * for both: %d %s", status, text)
	}
	if c, status := n.dial("https://evil.example"); c != nil || status != 403 {
		t.Errorf("--http-corsdomain opens WebSockets: %d", status)
	}
}

// A client on a WebSocket is sent a close frame when the service ends.
func TestDrainsSockets(t *testing.T) {
	t.Parallel()
	n := serve(t, "--data", imported(t, public), "--read-only")
	c, _ := n.dial("")
	if err := c.Write(t.Context(), websocket.MessageText, []byte(version)); err != nil {
		t.Fatal(err)
	}
	if _, text, err := c.Read(t.Context()); err != nil || !strings.Contains(string(text), "3503995874084926") {
		t.Fatalf("%s, %v", text, err)
	}
	ended := make(chan int)
	go func() { ended <- n.stop() }()
	if _, _, err := c.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusGoingAway {
		t.Errorf("closed with %v", err)
	}
	if code := <-ended; code != 0 {
		t.Errorf("exit %d: %s", code, n.stderr)
	}
}
