package environment

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"dyno/lab/probe/host"
	"dyno/lab/probe/procfs"
)

// ListenerAt returns the process that listens at a URL on this machine, so that it can be
// observed from outside; 0: it is not known.
func ListenerAt(address string) int {
	pid, err := procfs.Listener(hostPort(address))
	if err != nil || slices.Contains(forwarders, host.Command(pid)) {
		return 0
	}
	return pid
}

// hostPort returns the host and port of a URL, which may lack a scheme.
func hostPort(address string) string {
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// forwarders are programs that listen on behalf of a service elsewhere.
var forwarders = []string{"docker-proxy", "kubectl", "ssh", "rootlessport", "socat"}

// Doubt returns why the observed process may not be the one that serves a URL, or what about it
// cannot be read; empty: nothing is doubtful. named is the process that the user gave; 0: none.
func Doubt(named int, address string) string {
	at := hostPort(address)
	listener, err := procfs.Listener(at)
	if named == 0 {
		if runtime.GOOS == "linux" && errors.Is(err, procfs.ErrNoListener) {
			return "the process that listens at " + at + " cannot be seen, since it belongs to another user or is in another container: its CPU time and memory are unknown; run dyno as its user or as root"
		}
		return ""
	}
	if _, err := os.ReadDir(filepath.Join("/proc", strconv.Itoa(named), "fd")); errors.Is(err, fs.ErrPermission) {
		return fmt.Sprintf("--pid: process %s belongs to another user: its program, open files and sockets cannot be read, only its CPU time and memory; run dyno as that user or as root", called(named))
	}
	if err != nil || listener == named || slices.Contains(forwarders, host.Command(listener)) || listensAtPort(named, at) {
		return ""
	}
	return fmt.Sprintf("--pid: process %s does not listen at %s, process %s does: unless that one passes requests on to it, what the report says of the process is about another program; leave --pid out to watch %d",
		called(named), at, called(listener), listener)
}

// called returns a process's ID with its name, if the name can be read.
func called(pid int) string {
	if name := host.Command(pid); name != "" {
		return fmt.Sprintf("%d (%s)", pid, name)
	}
	return strconv.Itoa(pid)
}

// listensAtPort reports whether a process has a listener with the port of an address: a worker
// process inherits its parent's listener.
func listensAtPort(pid int, address string) bool {
	_, port, _ := net.SplitHostPort(address)
	return slices.ContainsFunc(procfs.Listens(pid), func(at netip.AddrPort) bool { return strconv.Itoa(int(at.Port())) == port })
}
