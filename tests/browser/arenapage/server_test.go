package arenapage_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"testing"


	"dyno/parts/process/processtest"
	"dyno/services/arena/arenatest"
	"dyno/services/arena/page"
)

var builds processtest.Builds

func TestMain(m *testing.M) {
	code := m.Run()
	builds.Remove()
	os.Exit(code)
}

// server is a game server with the page.
type server struct {
	*arenatest.Client
	addr string // HOST:PORT of the page
}

// start starts the server. It ends with the test.
func start(t *testing.T) *server {
	t.Helper()
	p := processtest.Start(t, builds.Program(t, "dyno/services/arena/plain"), "-listen=127.0.0.1:0", "-debug=127.0.0.1:0", "-lame-duck=0")
	api := &url.URL{Scheme: "http", Host: p.Ready()["listen"]}
	behind := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(api)
		r.Out.Host = r.In.Host
	}}
	mux := http.NewServeMux()
	mux.Handle("/", page.Handler())
	mux.Handle("/ws", behind)
	mux.Handle("/v1/", behind)
	front := httptest.NewServer(mux)
	t.Cleanup(front.Close)
	return &server{&arenatest.Client{T: t, Program: arenatest.Program{URL: api.String()}}, front.Listener.Addr().String()}
}

// join is the address of a room for a player, by way of HOST:PORT.
func join(addr, room, name string) string {
	return fmt.Sprintf("http://%s/?%s", addr, url.Values{"room": {room}, "name": {name}}.Encode())
}
