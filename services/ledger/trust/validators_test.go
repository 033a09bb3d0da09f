package trust

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dyno/services/ledger/signing"
	"dyno/services/ledger/xrpl"
)

// validator is a generated one: a master key and a signing key.
type validator struct{ master, key *signing.Key }

func validators(n int) (all []validator) {
	for i := range n {
		all = append(all, validator{signing.NewKeyEd25519(fmt.Append(nil, "master", i)), signing.NewKey(fmt.Append(nil, "key", i))})
	}
	return all
}

func (v validator) manifest(sequence uint32) []byte {
	return signing.SignManifest(v.master, v.key, sequence, "")
}

// publish makes the JSON that a publisher serves.
func publish(t testing.TB, master, key *signing.Key, all []validator, change func(list, outer map[string]any)) []byte {
	t.Helper()
	var listed []map[string]any
	for _, v := range all {
		listed = append(listed, map[string]any{"validation_public_key": hex.EncodeToString(v.master.Public()), "manifest": base64.StdEncoding.EncodeToString(v.manifest(1))})
	}
	list := map[string]any{"sequence": 7, "expiration": inForceUntil, "validators": listed}
	outer := map[string]any{"public_key": hex.EncodeToString(master.Public()), "version": 1,
		"manifest": base64.StdEncoding.EncodeToString(signing.SignManifest(master, key, 1, ""))}
	if change != nil {
		change(list, outer)
	}
	blob := encoded(t, list)
	outer["blob"] = base64.StdEncoding.EncodeToString(blob)
	if outer["signature"] == nil {
		outer["signature"] = hex.EncodeToString(key.Sign(blob))
	}
	return encoded(t, outer)
}

// inForceUntil is in seconds since 2000: in 2038.
const inForceUntil = 1_200_000_000

func encoded(t testing.TB, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestLoad(t *testing.T) {
	master, key, other := signing.NewKeyEd25519([]byte("publisher")), signing.NewKey([]byte("publisher's")), signing.NewKey([]byte("other"))
	all := validators(3)
	name := func(v validator) string { return xrpl.FormatNodeKey(v.master.Public()) }
	ours := hex.EncodeToString(master.Public())
	for _, c := range []struct {
		name, publisher, text string
		want                  int    // validators
		wrong                 string // in the error
	}{
		{"published", "", string(publish(t, master, key, all, nil)), 3, ""},
		{"published, by a trusted publisher", strings.ToUpper(ours), string(publish(t, master, key, all, nil)), 3, ""},
		{"published by another", hex.EncodeToString(other.Public()), string(publish(t, master, key, all, nil)), 0, "publisher is"},
		{"signed by another", ours, string(publish(t, master, key, all, func(_, o map[string]any) { o["signature"] = hex.EncodeToString(other.Sign([]byte("{}"))) })), 0, "not signed"},
		{"manifest of another", ours, string(publish(t, master, key, all, func(_, o map[string]any) {
			o["manifest"] = base64.StdEncoding.EncodeToString(signing.SignManifest(other, key, 1, ""))
		})), 0, "manifest is of"},
		{"revoked", ours, string(publish(t, master, key, all, func(_, o map[string]any) {
			o["manifest"] = base64.StdEncoding.EncodeToString(signing.SignManifest(master, nil, 1, ""))
		})), 0, "revoked"},
		{"a validator twice", "", string(publish(t, master, key, append(all, all[0]), nil)), 0, "twice"},
		{"published without validators", "", string(publish(t, master, key, nil, nil)), 0, "0 validators"},
		{"expired", "", string(publish(t, master, key, all, func(l, _ map[string]any) { l["expiration"] = 86400 })), 0,
			"expired: list 7 of publisher " + strings.ToUpper(ours) + " was valid until 2000-01-02T00:00:00Z; fetch the current one, as with curl"},
		{"good until no time", "", string(publish(t, master, key, all, func(l, _ map[string]any) { delete(l, "expiration") })), 0, "is never"},
		{"not JSON", "", "{", 0, "not a published list"},
		{"keys", "", "# ours\n" + name(all[0]) + "\n\n  " + name(all[1]) + " # second\n", 2, ""},
		{"keys, with a publisher", ours, name(all[0]), 0, "not a published list"},
		{"a key with a mistake", "", name(all[0]) + "\n" + name(all[1])[1:], 0, "line 2"},
		{"nothing", "", "", 0, "0 validators"},
	} {
		file := filepath.Join(t.TempDir(), "unl")
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		u, err := LoadValidators(file, c.publisher)
		switch {
		case c.wrong != "":
			if err == nil || !strings.Contains(err.Error(), c.wrong) || !strings.Contains(err.Error(), file) {
				t.Errorf("%s: %v, without %q", c.name, err, c.wrong)
			}
		case err != nil:
			t.Errorf("%s: %v", c.name, err)
		case len(u.Validators) != c.want:
			t.Errorf("%s: %d validators, not %d", c.name, len(u.Validators), c.want)
		case strings.HasPrefix(c.text, "{") && (u.Sequence != 7 || !u.Expires.Equal(xrpl.Time(inForceUntil)) || hex.EncodeToString(u.Publisher) != ours):
			t.Errorf("%s: %d, %v, %X", c.name, u.Sequence, u.Expires, u.Publisher)
		}
	}
	if _, err := LoadValidators(filepath.Join(t.TempDir(), "none"), ""); err == nil {
		t.Error("a file that does not exist is a list")
	}
}

func FuzzParse(f *testing.F) {
	f.Add(string(publish(f, signing.NewKey([]byte("p")), signing.NewKey([]byte("k")), validators(2), nil)))
	f.Add(xrpl.FormatNodeKey(signing.NewKey([]byte("v")).Public()))
	f.Add(string(versions(f, signing.NewKey([]byte("p")), blob{sequence: 1, until: inForceUntil, of: 2}, blob{sequence: 2, from: 1, until: inForceUntil, of: 3})))
	f.Fuzz(func(t *testing.T, text string) {
		u, err := ParseValidators([]byte(text), "")
		if err == nil && (len(u.Validators) == 0 || len(u.Validators) > maxValidators) {
			t.Errorf("%d validators", len(u.Validators))
		}
	})
}
