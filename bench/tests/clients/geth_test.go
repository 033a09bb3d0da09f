package clients_test

import (
	"encoding/hex"
	"errors"
	"math/big"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/accounts/abi/bind"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/ethclient"
	"github.com/ethereum/go-ethereum/params"
	"github.com/ethereum/go-ethereum/rpc"
	"github.com/ethereum/go-ethereum/trie"

	"dyno/parts/process/processtest"
	"dyno/parts/quicktest"
)

// The contract of contract.mjs.
const (
	contractABI = `[{"type":"event","name":"Set","inputs":[{"name":"by","type":"address","indexed":true},{"name":"value","type":"uint256"}]},
		{"type":"function","name":"set","inputs":[{"name":"v","type":"uint256"}],"outputs":[],"stateMutability":"nonpayable"},
		{"type":"function","name":"get","inputs":[],"outputs":[{"type":"uint256"}],"stateMutability":"view"},
		{"type":"function","name":"fail","inputs":[],"outputs":[],"stateMutability":"nonpayable"}]`
	contractCode = "608e80600b6000396000f360003560e01c806360fe47b11461002b5780636d4ce63c1461005e578063a9cc47181461006a57600080fd5b60043580600055" +
		"600052337ffd28ec3ec2555238d8ad6f9faf3e4cd10e574ce7e7ef28b73caa53f9512f65b960206000a2005b60005460005260206000f35b6308c379a060e01b" +
		"60005260206004526002602452616e6f60f01b60445260646000fd"
)

// A Go program with go-ethereum's own client: a bound contract, arrays, subscriptions, reverts.
func TestGoEthereum(t *testing.T) {
	quicktest.Skip(t, "builds chaind")
	chaind := processtest.Start(t, builds.Program(t, "dyno/services/chain/cmd/chaind"), "serve", "--listen=127.0.0.1:0", "--lame-duck=0", "--data="+t.TempDir())
	defer processtest.Stop(t, chaind)
	for _, scheme := range []string{"http", "ws"} {
		t.Run(scheme, func(t *testing.T) { goEthereum(t, scheme+"://"+chaind.Ready()["listen"]) })
	}
}

func goEthereum(t *testing.T, url string) {
	ctx := t.Context()
	conn, err := rpc.DialContext(ctx, url)
	must(t, err)
	defer conn.Close()
	node := ethclient.NewClient(conn)
	id, err := node.ChainID(ctx)
	must(t, err)
	key, err := crypto.HexToECDSA("ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80") // the first of the development chain
	must(t, err)
	opts, err := bind.NewKeyedTransactorWithChainID(key, id)
	must(t, err)
	opts.Context = ctx
	parsed, err := abi.JSON(strings.NewReader(contractABI))
	must(t, err)
	code, err := hex.DecodeString(contractCode)
	must(t, err)

	_, tx, contract, err := bind.DeployContract(opts, parsed, code, node)
	must(t, err)
	at, err := bind.WaitDeployed(ctx, node, tx)
	must(t, err)
	logs := make(chan types.Log, 1)
	query := ethereum.FilterQuery{Addresses: []common.Address{at}}
	if strings.HasPrefix(url, "ws") {
		sub, err := node.SubscribeFilterLogs(ctx, query, logs)
		must(t, err)
		defer sub.Unsubscribe()
	}
	tx, err = contract.Transact(opts, "set", big.NewInt(7))
	must(t, err)
	receipt, err := bind.WaitMined(ctx, node, tx)
	must(t, err)
	if receipt.Status != types.ReceiptStatusSuccessful || len(receipt.Logs) != 1 {
		t.Errorf("set: %+v", receipt)
	}
	if strings.HasPrefix(url, "ws") {
		if l := <-logs; l.TxHash != tx.Hash() {
			t.Errorf("another log: %+v", l)
		}
	}
	found, err := node.FilterLogs(ctx, query)
	must(t, err)
	if len(found) != 1 || found[0].BlockHash != receipt.BlockHash {
		t.Errorf("logs: %+v", found)
	}
	var got []any
	must(t, contract.Call(&bind.CallOpts{Context: ctx}, &got, "get"))
	if v, ok := got[0].(*big.Int); !ok || v.Int64() != 7 {
		t.Errorf("get: %v", got)
	}

	var reverted rpc.DataError
	_, err = contract.Transact(opts, "fail")
	if !errors.As(err, &reverted) {
		t.Fatalf("the estimate of a call that fails: %v", err)
	}
	data, ok := reverted.ErrorData().(string)
	if reason, err := abi.UnpackRevert(common.FromHex(data)); !ok || err != nil || reason != "no" {
		t.Errorf("the revert's data %v: %q, %v", reverted.ErrorData(), reason, err)
	}

	block, err := node.BlockByHash(ctx, receipt.BlockHash) // it checks the roots of the body
	must(t, err)
	if block.Transaction(tx.Hash()) == nil {
		t.Errorf("block %d lacks the transaction", block.NumberU64())
	}
	receipts, err := node.BlockReceipts(ctx, rpc.BlockNumberOrHashWithHash(receipt.BlockHash, false))
	must(t, err)
	if root := types.DeriveSha(types.Receipts(receipts), trie.NewStackTrie(nil)); root != block.ReceiptHash() {
		t.Errorf("the receipts' root is %x", root)
	}
	history, err := node.FeeHistory(ctx, 4, nil, []float64{10, 90})
	must(t, err)
	if n := len(history.Reward); n == 0 || len(history.BaseFee) != n+1 || len(history.GasUsedRatio) != n || len(history.Reward[0]) != 2 {
		t.Errorf("fee history: %+v", history)
	}

	balance, number, none := new(hexutil.Big), new(hexutil.Uint64), new(any)
	calls := []rpc.BatchElem{
		{Method: "eth_getBalance", Args: []any{opts.From, "latest"}, Result: balance},
		{Method: "eth_noSuchMethod", Result: none},
		{Method: "eth_blockNumber", Result: number},
	}
	must(t, conn.BatchCallContext(ctx, calls))
	if balance.ToInt().Cmp(big.NewInt(params.Ether)) < 0 || uint64(*number) < receipt.BlockNumber.Uint64() || calls[0].Error != nil || calls[2].Error != nil {
		t.Errorf("the array: %+v", calls)
	}
	var missing rpc.Error
	if !errors.As(calls[1].Error, &missing) || missing.ErrorCode() != -32601 || missing.Error() != "the method eth_noSuchMethod does not exist/is not available" {
		t.Errorf("a method that does not exist: %v", calls[1].Error)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
