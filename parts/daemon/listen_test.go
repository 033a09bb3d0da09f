package daemon

import (
	"fmt"
	"net"
	"os"
	"syscall"
	"testing"
)

// What is wrong with an address is said with the way to write it, or with what to do.
func TestListenErrors(t *testing.T) {
	for addr, want := range map[string]string{
		"9090":                   `--listen "9090" is no address: listen tcp: address 9090: missing port in address; write it as 127.0.0.1:9090`,
		"localhost":              `--listen "localhost" is no address: listen tcp: address localhost: missing port in address; write it as localhost:8080`,
		"http://127.0.0.1:9090/": `--listen "http://127.0.0.1:9090/" is no address: listen tcp: address http://127.0.0.1:9090/: too many colons in address; write it as 127.0.0.1:9090`,
		":70000":                 `--listen ":70000" is no address: listen tcp: address 70000: invalid port; write it as 127.0.0.1:8080`,
		"::1":                    `--listen "::1" is no address: listen tcp: address ::1: too many colons in address; write it as [::1]:8080`,
		"::1:9090":               `--listen "::1:9090" is no address: listen tcp: address ::1:9090: too many colons in address; write it as [::1]:9090`,
	} {
		_, cause := net.Listen("tcp", addr)
		if err := listenError("listen", addr, cause); cause == nil || err.Error() != want {
			t.Errorf("%s: %v\nwant %s", addr, err, want)
		}
	}
	const host = "db.internal"
	unknown := &net.OpError{Op: "listen", Err: &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}}
	if err := listenError("listen", host+":9090", unknown); err.Error() != "--listen db.internal:9090: lookup db.internal: no such host; write an address of this machine, such as 127.0.0.1:9090" {
		t.Error(err)
	}
	for number, want := range map[syscall.Errno]string{
		syscall.EADDRINUSE:    "--debug 127.0.0.1:80 is taken by another process; choose another port, or 0 for a free one",
		syscall.EADDRNOTAVAIL: "--debug 127.0.0.1:80 is not an address of this machine; 127.0.0.1 is this machine alone, and no host all of its addresses",
		syscall.EACCES:        "--debug 127.0.0.1:80 is a port that this user may not listen at; choose one from 1024, or grant CAP_NET_BIND_SERVICE",
	} {
		err := listenError("debug", "127.0.0.1:80", fmt.Errorf("listening: %w", &net.OpError{Op: "listen", Err: os.NewSyscallError("bind", number)}))
		if err.Error() != want {
			t.Errorf("%v: %v", number, err)
		}
	}
}
