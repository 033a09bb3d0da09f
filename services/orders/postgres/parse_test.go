package postgres

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
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
		if err != nil || !a.chosen || a.Port() == 0 {
			t.Errorf("%q: %+v %v", text, a, err)
		}
	}
}

// As root, PostgreSQL can use a folder that its user may not enter, if it may be given a capability
// for that; else the folder is refused before any file is created in it.
func TestAFolderThatPostgreSQLMayNotEnter(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only when root starts it does PostgreSQL run as another user")
	}
	o := testOptions(t)
	closed := filepath.Dir(o.Folder)
	if err := os.MkdirAll(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	if !mayPassFolders() {
		_, err := Start(t.Context(), o)
		wants(t, err, "chmod o+x "+closed, "--data", "--dsn", "root")
		if err := os.Chmod(closed, 0o701); err != nil { // what it says helps
			t.Fatal(err)
		}
	}
	mustStart(t, o)
}
