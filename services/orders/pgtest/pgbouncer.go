package pgtest

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"dyno/parts/freeport"
	"dyno/parts/process"
	"dyno/services/orders/postgres"
)

// PgBouncer starts a PgBouncer with these settings before a server, and returns the URLs, which
// must all be of that server, as they lead through it. The test is skipped when PgBouncer is not
// installed.
func PgBouncer(t testing.TB, settings map[string]string, dsns ...string) []string {
	t.Helper()
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		t.Skip("a pooler needs pgbouncer; install it (Debian: apt install pgbouncer)")
	}
	ports, err := freeport.Loopback(1)
	if err != nil {
		t.Fatal(err)
	}
	folder := Folder(t)
	users, through, server := map[string]string{}, make([]string, len(dsns)), ""
	for i, dsn := range dsns {
		u, err := url.Parse(dsn)
		if err != nil {
			t.Fatal(err)
		}
		server = u.Host
		users[u.User.Username()], _ = u.User.Password()
		u.Host = ports[0].String()
		through[i] = u.String()
	}
	host, port, err := net.SplitHostPort(server)
	if err != nil {
		t.Fatal(err)
	}
	var file, list strings.Builder
	fmt.Fprintf(&file, "[databases]\n* = host=%s port=%s\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = %d\nunix_socket_dir =\nauth_type = md5\nauth_file = %s\n",
		host, port, ports[0].Port(), filepath.Join(folder, "users.txt"))
	for name, value := range settings {
		fmt.Fprintf(&file, "%s = %s\n", name, value)
	}
	for name, password := range users {
		fmt.Fprintf(&list, "%q %q\n", name, password)
	}
	for name, text := range map[string]string{"pgbouncer.ini": file.String(), "users.txt": list.String()} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil { // made-up passwords
			t.Fatal(err)
		}
	}
	command := []string{program, filepath.Join(folder, "pgbouncer.ini")}
	if os.Geteuid() == 0 {
		unprivileged, err := user.LookupId(strconv.Itoa(postgres.UnprivilegedID)) // as which it runs instead
		if err != nil {
			t.Skipf("PgBouncer does not run as root: %v", err)
		}
		command = append(command, "-u", unprivileged.Username)
	}
	p, err := process.Start(t.Context(), process.Spec{Command: command, Find: func(ctx context.Context, _ int) (map[string]string, error) {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", ports[0].String())
		if err != nil {
			return nil, nil // not yet
		}
		return map[string]string{"port": strconv.Itoa(int(ports[0].Port()))}, conn.Close()
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	return through
}
