package environment

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"dyno/lab/record"
)

// A service that the lab does not start is observed from outside by its process, which is found
// by the service's address.
func TestPIDOf(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the process that listens at an address is looked up in /proc")
	}
	server := httptest.NewServer(http.NotFoundHandler())
	url := server.URL
	b := &Programs{}
	if got := b.pidOf(url + "/path?x=1"); got != os.Getpid() {
		t.Errorf("%s is served by process %d, want %d", url, got, os.Getpid())
	}
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(url, "http://"))
	if got := b.pidOf("http://localhost:" + port); got != os.Getpid() {
		t.Errorf("localhost:%s is served by process %d, want %d", port, got, os.Getpid())
	}
	server.Close()
	for _, absent := range []string{url, "http://192.0.2.1:80/", "::not a URL"} {
		if got := b.pidOf(absent); got != 0 {
			t.Errorf("%s is served by process %d", absent, got)
		}
	}
	b.PID = 42
	if got := b.pidOf(url); got != 42 {
		t.Errorf("the process that was named is 42, not %d", got)
	}
}

func TestChangedAtTheStart(t *testing.T) {
	for _, c := range []struct {
		change *record.Change
		want   []string
	}{
		{nil, nil},
		{&record.Change{GOGC: 800}, []string{"GOGC=800"}},
		{&record.Change{Procs: 1}, []string{"GOMAXPROCS=1"}},
	} {
		if got := changed(c.change); !slices.Equal(got, c.want) {
			t.Errorf("%+v: %q, want %q", c.change, got, c.want)
		}
	}
}

// If the named process is not the one that serves the URL, the doubt names the one that does.
func TestDoubt(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the process that listens at an address is looked up in /proc")
	}
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	place := strings.TrimPrefix(server.URL, "http://")
	for _, tt := range []struct {
		named int
		url   string
		want  []string // parts of the doubt; none: there is none
	}{
		{named: 0, url: server.URL},
		{named: os.Getpid(), url: server.URL + "/path"},
		{named: os.Getpid(), url: "http://192.0.2.1:80/"},
		{named: os.Getppid(), url: server.URL, want: []string{
			fmt.Sprintf("process %d ", os.Getppid()), "does not listen at " + place, fmt.Sprintf("process %d ", os.Getpid()), fmt.Sprintf("leave --pid out to watch %d", os.Getpid())}},
	} {
		got := Doubt(tt.named, tt.url)
		if len(tt.want) == 0 && got != "" {
			t.Errorf("%d at %s: %s", tt.named, tt.url, got)
		}
		for _, part := range tt.want {
			if !strings.Contains(got, part) {
				t.Errorf("%d at %s: %q lacks %q", tt.named, tt.url, got, part)
			}
		}
	}
}
