package postgres

import (
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pgregory.net/rapid"
)

const postmasterFile = "4711\n/var/lib/orders/pg/data\n1790000000\n15432\n\n127.0.0.1\n  1234567    32768\nready   \n"

func TestListening(t *testing.T) {
	for file, want := range map[string]string{
		postmasterFile: "127.0.0.1:15432",
		strings.Replace(postmasterFile, "127.0.0.1", "::1", 1):      "[::1]:15432",
		strings.Replace(postmasterFile, "127.0.0.1", "10.0.0.1", 1): "",
		strings.Replace(postmasterFile, "127.0.0.1", "*", 1):        "",
		strings.Replace(postmasterFile, "15432", "0", 1):            "",
		strings.Replace(postmasterFile, "15432", "99999", 1):        "",
		"4711\n/var/lib/orders/pg/data\n1790000000\n15432\n":        "",
		"": "",
	} {
		if got, ok := listening(file); got != want || ok != (want != "") {
			t.Errorf("%q: %q %v, want %q", file, got, ok, want)
		}
	}
}

func FuzzListening(f *testing.F) {
	f.Add(postmasterFile)
	f.Fuzz(func(t *testing.T, file string) {
		address, ok := listening(file)
		if !ok {
			return
		}
		if a, err := netip.ParseAddrPort(address); err != nil || !a.Addr().IsLoopback() || a.Port() == 0 {
			t.Errorf("%q: %q (%v) is no loopback address", file, address, err)
		}
	})
}

func TestVersions(t *testing.T) {
	for said, want := range map[string][2]string{
		"postgres (PostgreSQL) 15.13 (Debian 15.13-0+deb12u1)": {"15.13", "15"},
		"postgres (PostgreSQL) 9.6.24":                         {"9.6.24", "9.6"},
		"postgres (PostgreSQL) 18beta1":                        {"18", "18"},
		"postgres (Sybase) 15":                                 {"", ""},
		"":                                                     {"", ""},
	} {
		var b binaries
		if m := versionLine.FindStringSubmatch(said); m != nil {
			b.version = m[1]
		}
		if b.version != want[0] || b.major() != want[1] {
			t.Errorf("%q: version %q of %q, want %q", said, b.version, b.major(), want)
		}
	}
	for _, c := range []struct {
		a, b string
		want int
	}{{"15.9", "15.13", -1}, {"17.5", "9.6.24", 1}, {"17.5", "17.5", 0}, {"18", "17.9", 1}} {
		if got := compareVersions(c.a, c.b); got != c.want {
			t.Errorf("%s against %s: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

func TestAddress(t *testing.T) {
	for text, want := range map[string]string{
		"127.0.0.1:5433": "127.0.0.1:5433", "localhost:5433": "127.0.0.1:5433", "[::1]:5433": "[::1]:5433", ":5433": "127.0.0.1:5433",
		"10.0.0.1:5433": "", "example.com:5433": "", "5433": "", "127.0.0.1:port": "", "127.0.0.1:99999": "",
	} {
		a, err := chooseAddress(text)
		if (err == nil) != (want != "") || err == nil && a.String() != want {
			t.Errorf("%q: %v %v, want %q", text, a, err, want)
		}
	}
	for _, text := range []string{"", "127.0.0.1:0"} {
		a, err := chooseAddress(text)
		if err != nil || !a.chosen || a.Port() < firstPort || a.Port() > lastPort {
			t.Errorf("%q: %+v %v", text, a, err)
		}
		l, err := net.Listen("tcp", a.String())
		if err != nil {
			t.Fatalf("the port is not free: %v", err)
		}
		if a.free() == nil {
			t.Error("a port in use counts as free")
		}
		l.Close()
	}
}

func TestReachable(t *testing.T) {
	base := t.TempDir()
	dir := filepath.Join(base, "a", "b")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	me := &syscall.Credential{Uid: ownerOf(t, dir), Gid: uint32(os.Getegid())}
	stranger := &syscall.Credential{Uid: 54321, Gid: 54321}
	for _, c := range []struct {
		mode     os.FileMode
		user     *syscall.Credential
		mayEnter bool
	}{
		{0o755, stranger, true}, {0o711, stranger, true}, {0o754, stranger, false}, {0o700, stranger, false},
		{0o700, me, true}, {0o677, me, false},
		{0o710, &syscall.Credential{Uid: 54321, Gid: me.Gid}, true}, {0o701, &syscall.Credential{Uid: 54321, Gid: me.Gid}, false},
	} {
		middle := filepath.Dir(dir)
		if err := os.Chmod(middle, c.mode); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(middle)
		if err != nil {
			t.Fatal(err)
		}
		if got := mayEnter(info, c.user); got != c.mayEnter {
			t.Errorf("mode %o, user %d: %v", c.mode, c.user.Uid, got)
		}
		if os.Geteuid() != 0 {
			continue // without rights the way to dir ends here
		}
		for top := base; top != "/"; top = filepath.Dir(top) {
			if info, err := os.Stat(top); err == nil && info.Mode()&0o001 == 0 { // t.TempDir's own
				defer os.Chmod(top, info.Mode().Perm())
				os.Chmod(top, 0o755)
			}
		}
		if err := reachable(dir, c.user); (err == nil) != c.mayEnter {
			t.Errorf("mode %o, user %d: %v", c.mode, c.user.Uid, err)
		}
	}
	os.Chmod(filepath.Dir(dir), 0o755)
}

// As root, PostgreSQL can use a folder that its user may not enter, if it may be given a capability
// for that; else the folder is refused before any file is created in it.
func TestAFolderThatPostgreSQLMayNotEnter(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only when root starts it does PostgreSQL run as another user")
	}
	o := testOptions(t)
	closed := filepath.Dir(o.Folder)
	if err := os.MkdirAll(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	if !mayPass() {
		_, err := Start(t.Context(), o)
		wants(t, err, "chmod o+x "+closed, "--data", "--dsn", "root")
		if err := os.Chmod(closed, 0o701); err != nil { // what it says helps
			t.Fatal(err)
		}
	}
	mustStart(t, o)
}

// The log keeps to its bound, and what is in it is what was written last, whole and in order.
func TestTheLogIsBounded(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		path := filepath.Join(t.TempDir(), "log")
		var all strings.Builder
		for range rapid.IntRange(1, 3).Draw(rt, "starts") {
			l, err := openLog(path)
			if err != nil {
				rt.Fatal(err)
			}
			l.max = 100
			for _, line := range rapid.SliceOf(rapid.StringMatching(`[a-z]{0,60}\n`)).Draw(rt, "lines") {
				if n, err := l.Write([]byte(line)); n != len(line) || err != nil {
					rt.Fatal(n, err)
				}
				all.WriteString(line)
			}
			l.Close()
		}
		var kept []byte
		for _, p := range []string{path + ".1", path} {
			text, _ := os.ReadFile(p)
			if len(text) > 100 {
				rt.Errorf("%s has %d bytes", p, len(text))
			}
			kept = append(kept, text...)
		}
		if !strings.HasSuffix(all.String(), string(kept)) || len(kept) < min(all.Len(), 40) {
			rt.Errorf("kept %q of %q", kept, all.String())
		}
	})
}

func TestTheLogsLastWords(t *testing.T) {
	l, err := openLog(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if got := l.lastWords(); got != "" {
		t.Errorf("%q of an empty log", got)
	}
	l.Write([]byte(strings.Repeat("noise\n", maxTail)))
	l.Write([]byte("FATAL: the reason\n"))
	if got := l.lastWords(); !strings.HasSuffix(got, "FATAL: the reason") || len(got) > maxTail+200 {
		t.Errorf("%d bytes: %q", len(got), got)
	}
}
