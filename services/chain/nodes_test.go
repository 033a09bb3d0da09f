package chain_test

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dyno/parts/servicetest"
	"dyno/services/chain/cluster"
	"dyno/services/chain/peers"
)

func TestWrongNodes(t *testing.T) {
	dir := t.TempDir()
	key := peers.NewKey()
	file := filepath.Join(dir, "node.key")
	if err := key.Write(file); err != nil {
		t.Fatal(err)
	}
	raft := []string{"--consensus=raft", "--node-key", file}
	for _, tt := range []struct {
		args []string
		says string
	}{
		{[]string{"--consensus=paxos"}, "there are solo and raft"},
		{[]string{"--peer=b:1"}, "chaind key new"},
		{[]string{"--node-key", file}, "name the other nodes"},
		{[]string{"--node-key", file, "--follow=b:1"}, "by its id, too"},
		{append(raft, "--follow="+peers.NewKey().ID().String()+"@b:1"), "a solo node is followed"},
		{[]string{"--node-key", file, "--follow=" + peers.NewKey().ID().String() + "@b:1", "--read-only"}, "exclude each other"},
		{[]string{"--consensus=raft"}, "chaind key new"},
		{[]string{"--consensus=raft", "--read-only"}, "exclude each other"},
		{[]string{"--consensus=raft", "--node-key", file + "x", "--peer=b:1"}, "does not exist"},
		{raft, "name the other nodes"},
		{append(raft, "--peer=b"), "no address of a peer"},
		{append(raft, "--peer=xy@b:1"), "64 hexadecimal digits"},
		{append(raft, "--peer-id=xy"), "64 hexadecimal digits"},
		{append(raft, "--peer=b:1"), "name the peer at b:1 by its id"},
		{append(raft, "--peer-id", key.ID().String()), "the id of this node"},
		{nil, "was used otherwise"},
	} {
		if tt.args == nil {
			if err := os.Mkdir(filepath.Join(dir, "data", cluster.Folder), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		var stderr lines
		args := append([]string{"serve", "--listen=127.0.0.1:0", "--data", filepath.Join(dir, "data")}, tt.args...)
		if code := run(t.Context(), io.Discard, &stderr, args...); code != 2 || !strings.Contains(stderr.String(), tt.says) {
			t.Errorf("%v: exit %d, %s, want %q", tt.args, code, stderr.String(), tt.says)
		}
	}
}

// A node alone says so at the page of the peers, which programs that watch any node ask for.
func TestPeersOfOne(t *testing.T) {
	t.Parallel()
	n := serve(t, "--data", t.TempDir())
	servicetest.Board(t, "http://"+n.debug, "/debug/chain/", "blockchain_peers")
	resp, err := http.Get("http://" + n.debug + "/debug/chain/peers")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if want := `{"id":"","leads":true,"peers":[]}`; err != nil || strings.TrimSpace(string(text)) != want {
		t.Errorf("%s, want %s; %v", text, want, err)
	}
}
