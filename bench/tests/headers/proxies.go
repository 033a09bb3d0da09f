package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"dyno/bench/peers/callers"
	"dyno/parts/freeport"
)

// proxy is a program that stands before a service, with the configuration of its own documentation.
type proxy struct {
	program, how string
	version      func(context.Context) (string, error)
	config       string // with LISTEN, BACKEND, HOST and PORT of the backend, and DIR
	file         string // of the configuration
	command      []string
}

// proxies are those of the recorder.
func (p programs) proxies() []proxy {
	nginx := proxy{program: "nginx", version: versionOf(`nginx/([0-9.]+)`, "nginx", "-v"), file: "nginx.conf",
		command: []string{"nginx", "-p", "DIR", "-c", "DIR/nginx.conf", "-e", "DIR/error.log"}}
	of := func(how, location string) proxy {
		n := nginx
		n.how = how
		n.config = `daemon off; master_process off; pid DIR/pid; error_log DIR/error.log; events {}
http {
  access_log off; client_body_temp_path DIR/b; proxy_temp_path DIR/p; fastcgi_temp_path DIR/f; uwsgi_temp_path DIR/u; scgi_temp_path DIR/s;
  upstream service { server BACKEND; keepalive 16; }
  server { listen LISTEN; location / { proxy_pass http://service; proxy_http_version 1.1; proxy_set_header Connection ""; ` + location + ` } }
}`
		return n
	}
	return []proxy{
		of("X-Forwarded", "proxy_set_header Host $host; proxy_set_header X-Real-IP $remote_addr; proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for; proxy_set_header X-Forwarded-Proto $scheme; proxy_set_header X-Forwarded-Host $host;"),
		of("X-Request-ID", "proxy_set_header Host $host; proxy_set_header X-Request-ID $request_id; proxy_set_header Forwarded \"for=$remote_addr;proto=$scheme\";"),
		{program: "haproxy", how: "option forwardfor", version: versionOf(`HAProxy version ([0-9.]+)`, "haproxy", "-v"), file: "haproxy.cfg",
			command: []string{"haproxy", "-f", "DIR/haproxy.cfg", "-db"},
			config: `defaults
  mode http
  timeout connect 5s
  timeout client 10s
  timeout server 10s
  option forwardfor
frontend all
  bind LISTEN
  http-request set-header X-Forwarded-Proto http
  http-request set-header X-Forwarded-Host %[req.hdr(Host)]
  default_backend service
backend service
  server one BACKEND
`},
		{program: "Caddy", how: "reverse_proxy", version: versionOf(`^v?([0-9.]+)`, "go", "list", "-C", filepath.Dir(p.caddy), "-mod=mod", "-m", "-f", "{{.Version}}", "github.com/caddyserver/caddy/v2"), file: "caddy.json",
			command: []string{p.caddy, "run", "--config", "DIR/caddy.json"},
			config: `{"admin":{"disabled":true},"apps":{"http":{"servers":{"one":{"listen":["LISTEN"],"automatic_https":{"disable":true},
"routes":[{"handle":[{"handler":"reverse_proxy","upstreams":[{"dial":"BACKEND"}]}]}]}}}}}`},
		{program: "Apache httpd", how: "ProxyPass", version: versionOf(`Apache/([0-9.]+)`, "apache2", "-v"), file: "apache.conf",
			command: []string{"apache2", "-f", "DIR/apache.conf", "-DFOREGROUND"},
			config: `ServerRoot DIR
ServerName localhost
PidFile DIR/pid
ErrorLog DIR/error.log
Listen LISTEN
LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
LoadModule proxy_module /usr/lib/apache2/modules/mod_proxy.so
LoadModule proxy_http_module /usr/lib/apache2/modules/mod_proxy_http.so
ProxyPass / http://BACKEND/
ProxyPassReverse / http://BACKEND/
`},
		{program: "Varnish", version: versionOf(`varnish-([0-9.]+)`, "varnishd", "-V"), file: "default.vcl",
			command: []string{"varnishd", "-F", "-a", "LISTEN", "-f", "DIR/default.vcl", "-n", "DIR/work", "-s", "malloc,16m"},
			config:  "vcl 4.1;\nbackend default { .host = \"HOST\"; .port = \"PORT\"; }\n"},
	}
}

// run starts the proxy before a backend, and calls f with its URL.
func (x proxy) run(ctx context.Context, backend string, f func(url string) error) (err error) {
	dir, err := os.MkdirTemp("", "proxy")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil { // some run as another user
		return err
	}
	free, err := freeport.Loopback(1)
	if err != nil {
		return err
	}
	address := free[0].String()
	host, port, err := net.SplitHostPort(backend)
	if err != nil {
		return err
	}
	fill := strings.NewReplacer("LISTEN", address, "BACKEND", backend, "HOST", host, "PORT", port, "DIR", dir)
	if err := os.WriteFile(filepath.Join(dir, x.file), []byte(fill.Replace(x.config)), 0o644); err != nil {
		return err
	}
	var args []string
	for _, arg := range x.command[1:] {
		args = append(args, fill.Replace(arg))
	}
	ctx, cancel := context.WithCancel(ctx)
	c := exec.CommandContext(ctx, x.command[0], args...)
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
	c.WaitDelay = 5 * time.Second
	var said strings.Builder
	c.Stdout, c.Stderr = &said, &said
	if err := c.Start(); err != nil {
		cancel()
		return err
	}
	defer func() {
		cancel()
		if waited := c.Wait(); err != nil {
			err = fmt.Errorf("%w; the proxy ended with %v and said: %.1000s", err, waited, said.String())
		}
	}()
	if err := callers.Await(ctx, 20*time.Second, callers.Connecting(address)); err != nil {
		return err
	}
	return f("http://" + address)
}
