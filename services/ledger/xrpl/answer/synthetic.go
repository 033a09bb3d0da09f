package answer

import (
	"fmt"
	"maps"
	"slices"

	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/xrpljson"
)

// affected are the ledger entries that a transaction created, modified or deleted.
func affected(meta xrpljson.Object, change, kind string) (nodes []xrpljson.Object) {
	list, _ := meta["AffectedNodes"].([]any)
	for _, one := range list {
		wrapped, _ := one.(xrpljson.Object)
		if node, ok := wrapped[change].(xrpljson.Object); ok && node["LedgerEntryType"] == kind {
			nodes = append(nodes, node)
		}
	}
	return nodes
}

// tokens are the ids of the tokens in a page's fields; ok is false where it has none.
func tokens(node xrpljson.Object, part string) (ids []string, ok bool) {
	fields, _ := node[part].(xrpljson.Object)
	list, ok := fields["NFTokens"].([]any)
	for _, one := range list {
		wrapped, _ := one.(xrpljson.Object)
		token, _ := wrapped["NFToken"].(xrpljson.Object)
		if id, ok := token["NFTokenID"].(string); ok {
			ids = append(ids, id)
		}
	}
	return ids, ok
}

// minted is the one token that pages have after a transaction, and did not have before; "" if there
// is not exactly one.
func minted(meta xrpljson.Object) string {
	fresh := map[string]bool{}
	for _, node := range affected(meta, "CreatedNode", "NFTokenPage") {
		ids, _ := tokens(node, "NewFields")
		for _, id := range ids {
			fresh[id] = true
		}
	}
	changed := affected(meta, "ModifiedNode", "NFTokenPage")
	for _, node := range changed {
		if _, ok := tokens(node, "PreviousFields"); ok { // else only its links have changed
			ids, _ := tokens(node, "FinalFields")
			for _, id := range ids {
				fresh[id] = true
			}
		}
	}
	for _, node := range changed { // after all: a page may have been split
		ids, _ := tokens(node, "PreviousFields")
		for _, id := range ids {
			delete(fresh, id)
		}
	}
	if len(fresh) != 1 {
		return ""
	}
	return slices.Collect(maps.Keys(fresh))[0]
}

// offered are the tokens of the offers that a transaction deleted, in ascending order, once each.
func offered(meta xrpljson.Object) (ids []string) {
	for _, node := range affected(meta, "DeletedNode", "NFTokenOffer") {
		fields, _ := node["FinalFields"].(xrpljson.Object)
		if id, ok := fields["NFTokenID"].(string); ok {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// nameTokens adds to the metadata the tokens and the offer that a transaction of non-fungible
// tokens concerns. Source: insertNFTSyntheticInJson of rippled.
func nameTokens(fields, meta xrpljson.Object) {
	if meta["TransactionResult"] != "tesSUCCESS" {
		return
	}
	kind := fields["TransactionType"]
	switch kind {
	case "NFTokenMint":
		if id := minted(meta); id != "" {
			meta["nftoken_id"] = id
		}
	case "NFTokenAcceptOffer":
		if ids := offered(meta); len(ids) > 0 {
			meta["nftoken_id"] = ids[0]
		}
	case "NFTokenCancelOffer":
		if ids := offered(meta); len(ids) > 0 {
			meta["nftoken_ids"] = ids
		}
	}
	if kind == "NFTokenCreateOffer" || kind == "NFTokenMint" && fields["Amount"] != nil {
		for _, node := range affected(meta, "CreatedNode", "NFTokenOffer") {
			meta["offer_id"] = node["LedgerIndex"]
		}
	}
}

// nameIssuance adds to the metadata the id of the multi-purpose token that a transaction created.
// Source: insertMPTokenIssuanceID of rippled.
func nameIssuance(fields, meta xrpljson.Object) {
	if fields["TransactionType"] != "MPTokenIssuanceCreate" || meta["TransactionResult"] != "tesSUCCESS" {
		return
	}
	for _, node := range affected(meta, "CreatedNode", "MPTokenIssuance") {
		made, _ := node["NewFields"].(xrpljson.Object)
		address, _ := made["Issuer"].(string)
		issuer, err := xrpl.ParseAddress(address)
		if sequence, ok := made["Sequence"].(uint32); ok && err == nil {
			meta["mpt_issuance_id"] = fmt.Sprintf("%08X%X", sequence, issuer[:])
		}
	}
}
