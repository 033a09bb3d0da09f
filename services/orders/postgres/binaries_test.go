package postgres

import "testing"

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
