package sim

import (
	"fmt"

	"dyno/services/ledger/sim/chain"
)

// Fees and reserves, drops: those of the main network since December 2024.
const (
	reserveBase      = 1_000_000
	reserveIncrement = 200_000
	loadBase         = 256
)

// network is the id of the chain's network. Transactions name no network, as on those up to 1024.
const network = 0

// info is the result of server_info, and of server_state, which is the same for programs.
func (s *Sim) info(state bool) members {
	b := []byte(`"info":{`)
	if state {
		b = []byte(`"state":{`)
	}
	b = fmt.Appendf(b, `"network_id":%d,`, network)
	complete := s.Complete().String()
	mode := "full"
	if !s.synced.Load() {
		complete, mode = "empty", "connected"
	}
	b = fmt.Appendf(b, `"complete_ledgers":"%s"`, complete)
	if s.config.Software == Clio {
		b = append(b, `,"clio_version":"2.4.0","cache":{"is_full":true}`...)
	} else {
		b = fmt.Appendf(b, `,"build_version":"2.6.1","hostid":"SIM","peers":%d,"server_state":"%s","validation_quorum":%d`,
			s.chain.Validators(), mode, s.chain.Quorum())
	}
	if state {
		b = fmt.Appendf(b, `,"load_base":%d,"load_factor":%d`, loadBase, loadBase)
	} else {
		b = append(b, `,"load_factor":1`...)
	}
	if top, ok := s.top(); ok && s.synced.Load() {
		b = s.validated(b, top, state)
	}
	b = append(b, '}')
	if s.config.Software == Clio {
		b = append(b, `,"validated":true`...)
	}
	return members{head: b}
}

// validated appends the fields of the highest validated ledger, if it has been made.
func (s *Sim) validated(b []byte, top uint32, state bool) []byte {
	e, ok := s.chain.Highest(top)
	if !ok {
		return b
	}
	h := e.Parsed()
	b = fmt.Appendf(b, `,"validated_ledger":{"hash":"%v","seq":%d`, e.Hash(), h.Index)
	if state {
		return fmt.Appendf(b, `,"base_fee":%d,"close_time":%d,"reserve_base":%d,"reserve_inc":%d}`, chain.FeeDrops, h.Close, reserveBase, reserveIncrement)
	}
	return fmt.Appendf(b, `,"age":2,"base_fee_xrp":%g,"reserve_base_xrp":%g,"reserve_inc_xrp":%g}`, chain.FeeDrops/1e6, reserveBase/1e6, reserveIncrement/1e6)
}
