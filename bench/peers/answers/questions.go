package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// kind asks one question: a method and its parameters.
type kind func(d *dice) (method string, params []any)

// kinds are the kinds of questions by their names.
var kinds = map[string]kind{
	"transaction": func(d *dice) (string, []any) {
		return "debug_traceTransaction", []any{of(d, d.txs...).Hash, d.tracer()}
	},
	"block": func(d *dice) (string, []any) {
		if n := d.IntN(d.head + 1); d.in(0.5) {
			return "debug_traceBlockByNumber", []any{number(n), d.tracer()}
		}
		return "debug_traceBlockByHash", []any{of(d, d.hashes...), d.tracer()}
	},
	"tracecall": func(d *dice) (string, []any) {
		o := d.tracer()
		if d.in(0.5) {
			o["stateOverrides"] = d.accountsElse()
		}
		if d.in(0.4) {
			o["blockOverrides"] = d.blockElse()
		}
		if d.in(0.2) {
			o["txIndex"] = number(d.IntN(3))
		}
		return "debug_traceCall", []any{d.call(), d.block(), o}
	},
	"simulate": (*dice).simulation,
	"list": func(d *dice) (string, []any) {
		return "eth_createAccessList", d.overridden(0.4, 0)
	},
	"call": func(d *dice) (string, []any) {
		return "eth_call", d.overridden(0.6, 0.6)
	},
	"estimate": func(d *dice) (string, []any) {
		return "eth_estimateGas", d.overridden(0.4, 0.3)
	},
	"read": (*dice).read,
	"logs": (*dice).logs,
	"fees": func(d *dice) (string, []any) {
		percentiles := of(d, []any{}, []any{50}, []any{0, 25.5, 100}, []any{10, 5}, []any{101}, []any{10, 10})
		block := of[any](d, "latest", number(d.IntN(d.head+2)), "earliest", "safe", "finalized")
		return "eth_feeHistory", []any{of[any](d, "0x1", "0x5", "0x0", "0x400", 3), block, percentiles}
	},
}

// usual are the kinds in the shares in which they are asked by default.
var usual = []string{
	"transaction", "block", "tracecall", "tracecall", "simulate", "simulate", "simulate", "list", "call", "estimate", "read", "read", "logs", "fees",
}

func chosen(names string) (out []kind, err error) {
	list := usual
	if names != "" {
		list = strings.Split(names, ",")
	}
	for _, name := range list {
		k := kinds[name]
		if k == nil {
			return nil, fmt.Errorf("--kinds %s: there are %s", name, strings.Join(slices.Sorted(maps.Keys(kinds)), ", "))
		}
		out = append(out, k)
	}
	return out, nil
}

// overridden is a call, its block and, with probabilities, overrides of accounts and of the block.
func (d *dice) overridden(accounts, block float64) []any {
	p := []any{d.call(), d.block()}
	if d.in(accounts) {
		p = append(p, d.accountsElse())
		if d.in(block) {
			p = append(p, d.blockElse())
		}
	}
	return p
}

func (d *dice) simulation() (string, []any) {
	blocks := []object{}
	for range of(d, 1, 1, 2, 3) {
		b := object{}
		if d.in(0.5) {
			b["blockOverrides"] = d.blockElse()
		}
		if d.in(0.6) {
			b["stateOverrides"] = d.accountsElse()
		}
		if d.in(0.95) {
			calls := []object{}
			for range d.IntN(4) {
				calls = append(calls, d.call())
			}
			b["calls"] = calls
		}
		blocks = append(blocks, b)
	}
	o := object{"blockStateCalls": blocks}
	for _, option := range []string{"traceTransfers", "validation", "returnFullTransactions"} {
		if d.in(0.4) {
			o[option] = d.in(0.7)
		}
	}
	return "eth_simulateV1", []any{o, d.block()}
}

func (d *dice) read() (string, []any) {
	n, tx, index := number(d.IntN(d.head+2)), of(d, d.txs...).Hash, number(d.IntN(3))
	hash := of(d, d.hashes...)
	if d.in(0.05) {
		hash, tx = d.word(), d.word()
	}
	switch method := of(d, reads...); method {
	case "eth_getBalance", "eth_getCode", "eth_getTransactionCount":
		return method, []any{d.account(), d.block()}
	case "eth_getStorageAt":
		return method, []any{of(d, d.codes...), of(d, d.word(), "0x0", "0x1"), d.block()}
	case "eth_getProof":
		return method, []any{d.account(), []string{d.word(), of(d, "0x0", d.word())}[:d.IntN(3)], d.block()}
	case "eth_getStorageValues":
		return method, []any{object{d.account(): []string{d.word()}}, d.block()}
	case "web3_sha3":
		return method, []any{d.input()}
	case "eth_getTransactionByHash", "eth_getTransactionReceipt", "eth_getRawTransactionByHash", "debug_getRawTransaction":
		return method, []any{tx}
	case "eth_getHeaderByHash", "eth_getUncleCountByBlockHash", "eth_getBlockTransactionCountByHash":
		return method, []any{hash}
	case "eth_getBlockByHash":
		return method, []any{hash, d.in(0.5)}
	case "eth_getBlockByNumber":
		return method, []any{of(d, n, n, n, "latest", "earliest", "safe", "finalized"), d.in(0.5)}
	case "eth_getBlockReceipts", "debug_getRawBlock", "debug_getRawHeader", "debug_getRawReceipts":
		return method, []any{of(d, n, n, n, hash, "latest", "earliest")}
	case "eth_getHeaderByNumber", "eth_getUncleCountByBlockNumber", "eth_getBlockTransactionCountByNumber":
		return method, []any{n}
	case "eth_getUncleByBlockNumberAndIndex", "eth_getRawTransactionByBlockNumberAndIndex", "eth_getTransactionByBlockNumberAndIndex":
		return method, []any{n, index}
	case "eth_getUncleByBlockHashAndIndex", "eth_getRawTransactionByBlockHashAndIndex", "eth_getTransactionByBlockHashAndIndex":
		return method, []any{hash, index}
	default:
		return method, nil
	}
}

var reads = []string{
	"eth_getBalance", "eth_getCode", "eth_getTransactionCount", "eth_getStorageAt", "eth_getProof", "eth_getStorageValues", "web3_sha3",
	"eth_getTransactionByHash", "eth_getTransactionReceipt", "eth_getRawTransactionByHash", "debug_getRawTransaction",
	"eth_getHeaderByHash", "eth_getUncleCountByBlockHash", "eth_getBlockTransactionCountByHash", "eth_getBlockByHash", "eth_getBlockByNumber",
	"eth_getBlockReceipts", "debug_getRawBlock", "debug_getRawHeader", "debug_getRawReceipts",
	"eth_getHeaderByNumber", "eth_getUncleCountByBlockNumber", "eth_getBlockTransactionCountByNumber",
	"eth_getUncleByBlockNumberAndIndex", "eth_getRawTransactionByBlockNumberAndIndex", "eth_getTransactionByBlockNumberAndIndex",
	"eth_getUncleByBlockHashAndIndex", "eth_getRawTransactionByBlockHashAndIndex", "eth_getTransactionByBlockHashAndIndex",
	"eth_chainId", "eth_blockNumber", "eth_blobBaseFee", "eth_baseFee", "eth_config", "eth_syncing", "net_version", "net_listening",
	"txpool_inspect", "txpool_status", "txpool_content",
}

// logs asks for logs by a range, or by a block's hash, of some contracts with some topics.
func (d *dice) logs() (string, []any) {
	filter := object{}
	switch p := d.Float64(); {
	case p < 0.3:
		filter["blockHash"] = of(d, append(d.hashes, d.word())...)
		if d.in(0.1) {
			filter["fromBlock"] = "0x1"
		}
	case p < 0.9:
		from, to := d.IntN(d.head+1), d.IntN(d.head+1)
		if from > to && d.in(0.8) {
			from, to = to, from
		}
		filter["fromBlock"], filter["toBlock"] = number(from), of(d, number(to), number(to), "latest")
	}
	if d.in(0.5) {
		filter["address"] = of[any](d, of(d, d.codes...), []string{d.account(), of(d, d.codes...)}, []string{})
	}
	if d.in(0.5) {
		topics := []any{}
		for range d.IntN(5) {
			topics = append(topics, of[any](d, nil, of(d, d.topics...), []string{of(d, d.topics...), of(d, d.topics...)}, []string{}))
		}
		filter["topics"] = topics
	}
	return "eth_getLogs", []any{filter}
}
