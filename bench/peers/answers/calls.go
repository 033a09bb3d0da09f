package main

import "strings"

// call is the object of a call, which may be impossible.
func (d *dice) call() object {
	c := object{}
	if d.in(0.9) {
		c["from"] = d.account()
		if d.in(0.7) {
			c["from"] = of(d, d.rich...)
		}
	}
	if d.in(0.85) {
		c["to"] = d.account()
		if d.in(0.6) {
			c["to"] = of(d, d.codes...)
		}
	}
	if d.in(0.4) {
		c["value"] = of(d, "0x0", "0x1", "0x7", "0x7", "0x1", ether, tooBig)
	}
	if d.in(0.6) {
		c[of(d, "data", "input")] = d.input()
	}
	if d.in(0.3) {
		c["gas"] = number(of(d, 21_000, 21_001, 30_000, 53_000, 100_000, 1_000_000, 1<<24, 100_000_000, 20_999))
	}
	if d.in(0.4) {
		return c // more would make most calls impossible
	}
	switch p := d.Float64(); {
	case p < 0.12:
		c["gasPrice"] = number(of[int](d, 0, 1, 1e9, 1e10))
	case p < 0.3:
		c["maxFeePerGas"] = number(of[int](d, 0, 1, 1e9, 1e10, 1e18))
		if d.in(0.7) {
			c["maxPriorityFeePerGas"] = number(of[int](d, 0, 1, 1e9))
		}
	case p < 0.33:
		c["maxPriorityFeePerGas"] = "0x1"
	}
	if d.in(0.15) {
		c["nonce"] = of(d, "0x0", "0x1", "0x2", "0x32", most64)
	}
	if d.in(0.1) {
		list := []object{}
		for range d.IntN(3) {
			keys := []string{}
			for range d.IntN(3) {
				keys = append(keys, d.word())
			}
			list = append(list, object{"address": d.account(), "storageKeys": keys})
		}
		c["accessList"] = list
	}
	if d.in(0.05) {
		c["chainId"] = of(d, "0x1", "0xc72dd9d5e883e")
	}
	if d.in(0.04) {
		c["blobVersionedHashes"] = []string{"0x01" + strings.Repeat("00", 31)}
	}
	if d.in(0.04) {
		c["maxFeePerBlobGas"] = number(of(d, 0, 1, 100))
	}
	return c
}

func (d *dice) input() string {
	switch d.IntN(6) {
	case 0:
		return "0x"
	case 1:
		return d.word()
	case 2:
		return d.word() + d.word()[2:]
	case 3:
		return of(d, code...)
	}
	if len(d.inputs) == 0 {
		return "0x00"
	}
	return of(d, d.inputs...)
}

// accountsElse is a set of overrides of accounts.
func (d *dice) accountsElse() object {
	all := object{}
	for range of(d, 0, 0, 1, 1, 2, 3) {
		o := object{}
		if d.in(0.4) {
			o["balance"] = of(d, "0x0", "0x1", ether, most)
		}
		if d.in(0.2) {
			o["nonce"] = of(d, "0x0", "0x1", "0x5", most64)
		}
		if d.in(0.5) {
			o["code"] = of(d, append(code, "0x")...)
		}
		switch p := d.Float64(); {
		case p < 0.2:
			o["state"] = d.slots(d.IntN(3)) // none: it is cleared
		case p < 0.45:
			o["stateDiff"] = d.slots(d.IntN(3))
		}
		if d.in(0.08) {
			o["movePrecompileToAddress"] = d.account()
		}
		at := d.account()
		if d.in(0.2) {
			at = of(d, d.codes...)
		}
		all[at] = o
	}
	return all
}

func (d *dice) slots(n int) object {
	slots := object{}
	for range n {
		slots[d.word()] = d.word()
	}
	return slots
}

// blockElse is a set of overrides of a block.
func (d *dice) blockElse() object {
	o := object{}
	if d.in(0.3) {
		o["number"] = number(of(d, d.head-1, d.head, d.head+1, d.head+4, 1, 1000))
	}
	if d.in(0.3) {
		o["time"] = number(of[int](d, 0, 10*d.head, 10*d.head+10, 10*d.head+20, 1e6, 1<<40))
	}
	if d.in(0.2) {
		o["gasLimit"] = number(of(d, 0, 21_000, 1_000_000, 30_000_000, 1_000_000_000))
	}
	if d.in(0.2) {
		o["feeRecipient"] = d.account()
	}
	if d.in(0.2) {
		o["prevRandao"] = d.word()
	}
	if d.in(0.2) {
		o["baseFeePerGas"] = number(of[int](d, 0, 1, 1e9, 1e18))
	}
	if d.in(0.2) {
		o["blobBaseFee"] = number(of(d, 0, 1, 100))
	}
	if d.in(0.03) {
		o["difficulty"] = "0x5"
	}
	if d.in(0.03) {
		o["beaconRoot"] = d.word()
	}
	if d.in(0.03) {
		o["withdrawals"] = []object{{"index": "0x0", "validatorIndex": "0x0", "address": d.account(), "amount": "0x5"}}
	}
	if d.in(0.01) {
		o["nonsense"] = "0x1"
	}
	return o
}

func (d *dice) tracer() object {
	name := of(d, "callTracer", "callTracer", "prestateTracer", "prestateTracer", "4byteTracer", "flatCallTracer", "noopTracer", "muxTracer",
		"erc7562Tracer", "keccak256PreimageTracer", "")
	o := object{}
	if name != "" {
		o["tracer"] = name
	}
	switch {
	case name == "callTracer" && d.in(0.6):
		o["tracerConfig"] = object{"withLog": d.in(0.5), "onlyTopCall": d.in(0.3)}
	case name == "prestateTracer" && d.in(0.7):
		o["tracerConfig"] = object{"diffMode": d.in(0.6), "disableCode": d.in(0.3), "disableStorage": d.in(0.3), "includeEmpty": d.in(0.2)}
	case name == "flatCallTracer" && d.in(0.7):
		o["tracerConfig"] = object{"convertParityErrors": d.in(0.5), "includePrecompiles": d.in(0.5)}
	case name == "muxTracer":
		o["tracerConfig"] = of(d, object{"callTracer": object{}, "prestateTracer": object{"diffMode": true}}, object{"4byteTracer": nil},
			object{"noopTracer": object{}, "flatCallTracer": object{}}, object{}, object{"callTracer": object{"withLog": true}})
	case name == "":
		for _, option := range []string{"disableStack", "disableStorage", "enableMemory", "enableReturnData"} {
			if d.in(0.4) {
				o[option] = d.in(0.5)
			}
		}
		if d.in(0.5) {
			o["limit"] = of(d, 0, 1, 10)
		}
	}
	return o
}
