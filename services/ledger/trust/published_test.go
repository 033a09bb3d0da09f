package trust

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"strings"
	"testing"
	"time"

	"dyno/services/ledger/signing"
	"dyno/services/ledger/xrpl"
)

// blob is one blob of a list of version 2.
type blob struct {
	sequence    int
	from, until int64        // seconds since 2000
	of          int          // validators
	key         *signing.Key // signing key; nil: that of the list's manifest
	manifest    []byte       // its own; nil: the list's
}

// versions makes a list of version 2.
func versions(t testing.TB, master *signing.Key, blobs ...blob) []byte {
	t.Helper()
	key := signing.NewKey([]byte("publisher's"))
	var all []map[string]any
	for _, b := range blobs {
		var listed []map[string]any
		for _, v := range validators(b.of) {
			listed = append(listed, map[string]any{"validation_public_key": hex.EncodeToString(v.master.Public())})
		}
		list := map[string]any{"sequence": b.sequence, "expiration": b.until, "validators": listed}
		if b.from > 0 {
			list["effective"] = b.from
		}
		text := encoded(t, list)
		signer := key
		if b.key != nil {
			signer = b.key
		}
		one := map[string]any{"blob": base64.StdEncoding.EncodeToString(text), "signature": hex.EncodeToString(signer.Sign(text))}
		if b.manifest != nil {
			one["manifest"] = base64.StdEncoding.EncodeToString(b.manifest)
		}
		all = append(all, one)
	}
	return encoded(t, map[string]any{"public_key": hex.EncodeToString(master.Public()), "version": 2, "blobs_v2": all,
		"manifest": base64.StdEncoding.EncodeToString(signing.SignManifest(master, key, 1, ""))})
}

// Of several lists, those whose period includes now count, and of those the newest. Now is second
// 1000 since 2000.
func TestListInForce(t *testing.T) {
	master, later, other := signing.NewKeyEd25519([]byte("publisher")), signing.NewKey([]byte("later")), signing.NewKey([]byte("other"))
	rotated := signing.SignManifest(master, later, 2, "")
	old := signing.SignManifest(master, signing.NewKey([]byte("publisher's")), 1, "")
	for _, c := range []struct {
		name  string
		blobs []blob
		want  int    // the sequence
		wrong string // in the error
	}{
		{"one", []blob{{sequence: 1, until: 2000, of: 1}}, 1, ""},
		{"the second is of later", []blob{{sequence: 1, until: 2000, of: 1}, {sequence: 2, from: 1001, until: 3000, of: 2}}, 1, ""},
		{"the second's time has come", []blob{{sequence: 1, until: 2000, of: 1}, {sequence: 2, from: 1000, until: 3000, of: 2}}, 2, ""},
		{"the first has expired", []blob{{sequence: 1, until: 1000, of: 1}, {sequence: 2, from: 900, until: 1001, of: 2}}, 2, ""},
		{"in any order", []blob{{sequence: 3, from: 900, until: 2000, of: 3}, {sequence: 2, from: 800, until: 2000, of: 2}, {sequence: 4, from: 1500, until: 2000, of: 4}}, 3, ""},
		{"the newest has expired", []blob{{sequence: 1, until: 2000, of: 1}, {sequence: 2, from: 1, until: 1000, of: 2}}, 1, ""},
		{"all have expired", []blob{{sequence: 1, until: 500, of: 1}, {sequence: 2, until: 1000, of: 2}}, 0, "list 2 of publisher"},
		{"none yet", []blob{{sequence: 2, from: 2000, until: 3000, of: 1}, {sequence: 1, from: 1001, until: 3000, of: 2}}, 0, "list 1 of publisher"},
		{"one has expired, the other is of later", []blob{{sequence: 1, until: 1000, of: 1}, {sequence: 2, from: 1001, until: 3000, of: 2}}, 0, "list 1 of publisher"},
		{"its end before its begin", []blob{{sequence: 1, from: 900, until: 900, of: 1}}, 0, "never"},
		{"a key of its own", []blob{{sequence: 1, until: 2000, of: 1}, {sequence: 2, until: 2000, of: 2, key: later, manifest: rotated}}, 2, ""},
		{"the list's key under a manifest of its own", []blob{{sequence: 2, until: 2000, of: 2, manifest: rotated}}, 0, "not signed"},
		{"an older key brought back", []blob{{sequence: 1, until: 2000, of: 1, key: later, manifest: rotated}, {sequence: 2, until: 2000, of: 2, manifest: old}}, 0, "blob 2 of 2: it is not signed"},
		{"another's manifest", []blob{{sequence: 1, until: 2000, of: 1, key: other, manifest: signing.SignManifest(other, other, 1, "")}}, 0, "manifest is of"},
		{"one for later is another's", []blob{{sequence: 1, until: 2000, of: 1}, {sequence: 2, from: 1500, until: 3000, of: 2, key: other}}, 0, "blob 2 of 2: it is not signed"},
		{"the key is revoked with the second", []blob{{sequence: 1, until: 2000, of: 1}, {sequence: 2, until: 3000, of: 2, manifest: signing.SignManifest(master, nil, 1, "")}}, 0, "revoked"},
		{"none", nil, 0, "0 blobs"},
		{"too many", make([]blob, maxBlobs+1), 0, "6 blobs"},
	} {
		u, err := parseValidators(versions(t, master, c.blobs...), "", xrpl.Time(1000))
		switch {
		case c.wrong != "":
			if err == nil || !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("%s: %v, without %q", c.name, err, c.wrong)
			}
		case err != nil:
			t.Errorf("%s: %v", c.name, err)
		case u.Sequence != uint32(c.want) || len(u.Validators) != c.want:
			t.Errorf("%s: list %d with %d validators, not %d", c.name, u.Sequence, len(u.Validators), c.want)
		}
	}
}

// A list that was in force when it was read gives no anchor from the second on at which it expires.
func TestQuorumEndsWithItsList(t *testing.T) {
	all := validators(5)
	text := publish(t, signing.NewKey([]byte("p")), signing.NewKey([]byte("k")), all, func(l, _ map[string]any) { l["expiration"] = 2000 })
	now := xrpl.Time(1999)
	u, err := parseValidators(text, "", now)
	if err != nil {
		t.Fatal(err)
	}
	q, err := NewQuorum(u)
	if err != nil {
		t.Fatal(err)
	}
	q.now = func() time.Time { return now }
	for i, v := range all {
		if i == 4 {
			now = now.Add(time.Second)
		}
		_, reached, err := q.Add(says(9, 3).Sign(v.key))
		if reached != (i == 3) || errors.Is(err, ErrListExpired) != (i == 4) || Final(err) != (i == 4) {
			t.Errorf("validator %d: reached %v, %v", i+1, reached, err)
		}
	}
}
