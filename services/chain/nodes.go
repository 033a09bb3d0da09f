package chain

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"dyno/parts/daemon"
	"dyno/parts/doors"
	"dyno/services/chain/blockchain"
	"dyno/services/chain/cluster"
	"dyno/services/chain/journal"
	"dyno/services/chain/node"
	"dyno/services/chain/peers"
)

// nodes is the flags for several nodes.
type nodes struct {
	consensus, follow, listen, key string
	peers, ids                     []string
}

func (f *nodes) declare(set *pflag.FlagSet) {
	set.StringVar(&f.consensus, "consensus", "solo", "`NAME` of what orders transactions and blocks: solo, this node alone; raft, a majority of this node and its peers")
	set.StringVar(&f.follow, "follow", "", "`ID@HOST:PORT` of the solo node whose chain this node shows, and to which it forwards transactions")
	set.StringArrayVar(&f.peers, "peer", nil, "[ID@]`HOST:PORT` of another node, with its id (chaind key show); repeatable")
	set.StringArrayVar(&f.ids, "peer-id", nil, "`ID` of a node that connects to this one, or whose --peer names no id; repeatable")
	set.StringVar(&f.listen, "peer-listen", "", "`ADDRESS` at which this node's peers connect")
	set.StringVar(&f.key, "node-key", "", "`FILE` with this node's key (chaind key new)")
}

// alone reports whether the node has no peers.
func (f *nodes) alone() bool {
	return f.consensus == "solo" && len(f.peers)+len(f.ids)+len(f.follow)+len(f.listen)+len(f.key) == 0
}

// ReadKey reads the key of a node from its file.
func ReadKey(path string) (peers.Key, error) {
	key, err := peers.ReadKey(path)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w: chaind key new --node-key %s makes a key", err, path)
	}
	return key, err
}

// options reads what the flags name, the node to follow as the first address.
func (f *nodes) options() (o peers.Options, err error) {
	if f.key == "" {
		return o, errors.New("--node-key: several nodes know each other by their keys: make one with chaind key new --node-key FILE, and name it here")
	}
	if o.Key, err = ReadKey(f.key); err != nil {
		return o, fmt.Errorf("--node-key: %w", err)
	}
	if f.follow != "" {
		a, err := peers.ParseAddress(f.follow)
		if err == nil && a.ID == (peers.ID{}) {
			err = errors.New("name the node by its id, too, as ID@" + a.Host + " (chaind key show prints the id)")
		}
		if err != nil {
			return o, fmt.Errorf("--follow: %w", err)
		}
		o.Addresses = append(o.Addresses, a)
	}
	for _, text := range f.peers {
		a, err := peers.ParseAddress(text)
		if err != nil {
			return o, fmt.Errorf("--peer: %w", err)
		}
		o.Addresses = append(o.Addresses, a)
	}
	for _, text := range f.ids {
		id, err := peers.ParseID(text)
		if err != nil {
			return o, fmt.Errorf("--peer-id: %w", err)
		}
		o.Permitted = append(o.Permitted, id)
	}
	if len(o.Addresses)+len(o.Permitted) == 0 {
		return o, errors.New("name the other nodes with --peer ID@HOST:PORT or --peer-id ID (chaind key show prints a node's id)")
	}
	return o, nil
}

// check says what is wrong with the flags.
func (f *nodes) check(readOnly bool) error {
	switch {
	case readOnly && !f.alone():
		return errors.New("--read-only and the flags of several nodes exclude each other: a node that takes part appends blocks")
	case f.consensus == "raft" && f.follow != "":
		return errors.New("--follow and --consensus raft exclude each other: a solo node is followed")
	case f.consensus != "solo" && f.consensus != "raft":
		return fmt.Errorf("--consensus %s: there are solo and raft", f.consensus)
	}
	return nil
}

// openJournal opens the journal of the consensus. Begin makes it take part once the node is open;
// nil: there is nothing to do.
func (f *nodes) openJournal(env *daemon.Env, c *blockchain.Chain, config Config) (j node.Journal, begin func(*node.Node) error, err error) {
	own := journal.Folder
	if f.consensus == "raft" {
		own = cluster.Folder
	}
	for _, other := range []string{journal.Folder, cluster.Folder} {
		if _, err := os.Stat(filepath.Join(env.Data, other)); err == nil && (other != own || f.follow != "") {
			return nil, nil, daemon.Usage(fmt.Errorf("--consensus %s: the folder %s was used otherwise: export its chain, and import it into a new folder on each node", f.consensus, env.Data))
		}
	}
	var o cluster.Options
	if !f.alone() {
		if o, err = f.connect(env, c, config); err != nil {
			return nil, nil, err
		}
		defer func() {
			if err != nil && o.Listener != nil {
				err = errors.Join(err, o.Listener.Close())
			}
		}()
	}
	var nodes connected
	switch {
	case f.consensus == "raft":
		nodes, err = cluster.Open(filepath.Join(env.Data, own), o)
	case f.follow != "":
		nodes = cluster.OpenFollower(o)
	default:
		j, err := journal.Open(filepath.Join(env.Data, own), journal.Options{Log: env.Log})
		if err != nil || f.alone() {
			env.Debug.HandleFunc(peersPath, func(w http.ResponseWriter, _ *http.Request) { writePeers(w, "", true, []struct{}{}) })
			return j, nil, err
		}
		nodes = cluster.OpenSolo(j, o)
	}
	if err != nil {
		return nil, nil, err
	}
	return nodes, func(n *node.Node) error {
		nodes.Start(n)
		return showPeers(env, nodes)
	}, nil
}

// connected is a journal of several nodes.
type connected interface {
	node.Shared
	Start(n *node.Node)
	Network() *peers.Network
}

// connect makes the network of the node's peers, and listens for them.
func (f *nodes) connect(env *daemon.Env, c *blockchain.Chain, config Config) (out cluster.Options, err error) {
	o, err := f.options()
	if err != nil {
		return out, daemon.Usage(err)
	}
	o.Chain, o.Genesis, o.Log = c.Genesis.Config.ChainID.Uint64(), c.Genesis.Block().Hash(), env.Log
	network, err := peers.New(o)
	if err != nil {
		return out, daemon.Usage(err)
	}
	out = cluster.Options{Network: network, Raft: config.Raft, Log: env.Log, Fail: env.Fail}
	if f.follow != "" {
		out.Sealer = o.Addresses[0].ID
	}
	if f.listen != "" {
		out.Listener, err = daemon.Listen(f.listen, doors.Private("peer-listen", env.Log))
	}
	return out, err
}

const peersPath = "GET /debug/chain/peers"

// writePeers answers for a node with an id, or with "" for one without a key, which has no peers.
func writePeers(w http.ResponseWriter, id any, leads bool, peers any) {
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(map[string]any{"id": id, "leads": leads, "peers": peers}) // an error means that the client has gone
}

// showPeers shows a node's peers on the debug address, and to Prometheus.
func showPeers(env *daemon.Env, j connected) error {
	n := j.Network()
	env.Debug.HandleFunc(peersPath, func(w http.ResponseWriter, _ *http.Request) { writePeers(w, n.ID(), j.Leads(), n.Peers()) })
	return env.Expose(prefix, func(set daemon.Set) {
		t := n.Totals()
		set("peers", float64(t.Connected))
		set("peers_stalled", float64(t.Stalled))
		set("peer_messages_queued", float64(t.Queued))
		set("peer_messages_dropped_total", float64(t.Dropped))
		set("peer_messages_refused_total", float64(t.Refused))
	},
		daemon.Metric{Name: "peers", Help: "connected peers"},
		daemon.Metric{Name: "peers_stalled", Help: "peers that do not keep up; beyond 16 this node's own connection may be the cause"},
		daemon.Metric{Name: "peer_messages_queued", Help: "messages that wait for peers"},
		daemon.Metric{Name: "peer_messages_dropped_total", Help: "messages dropped because 128 of them, or 32 MiB, waited for their peer"},
		daemon.Metric{Name: "peer_messages_refused_total", Help: "messages dropped because 8,192 waited for all peers"})
}
