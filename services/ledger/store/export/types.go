package export

import "strconv"

// typeNames are the types of transactions by their numbers. Source: rippled's transactions.macro.
var typeNames = map[uint16]string{
	0: "Payment", 1: "EscrowCreate", 2: "EscrowFinish", 3: "AccountSet", 4: "EscrowCancel", 5: "SetRegularKey", 6: "NickNameSet",
	7: "OfferCreate", 8: "OfferCancel", 9: "Contract", 10: "TicketCreate", 12: "SignerListSet", 13: "PaymentChannelCreate",
	14: "PaymentChannelFund", 15: "PaymentChannelClaim", 16: "CheckCreate", 17: "CheckCash", 18: "CheckCancel", 19: "DepositPreauth",
	20: "TrustSet", 21: "AccountDelete", 22: "SetHook", 25: "NFTokenMint", 26: "NFTokenBurn", 27: "NFTokenCreateOffer",
	28: "NFTokenCancelOffer", 29: "NFTokenAcceptOffer", 30: "Clawback", 31: "AMMClawback", 35: "AMMCreate", 36: "AMMDeposit",
	37: "AMMWithdraw", 38: "AMMVote", 39: "AMMBid", 40: "AMMDelete", 41: "XChainCreateClaimID", 42: "XChainCommit", 43: "XChainClaim",
	44: "XChainAccountCreateCommit", 45: "XChainAddClaimAttestation", 46: "XChainAddAccountCreateAttestation", 47: "XChainModifyBridge",
	48: "XChainCreateBridge", 49: "DIDSet", 50: "DIDDelete", 51: "OracleSet", 52: "OracleDelete", 53: "LedgerStateFix",
	54: "MPTokenIssuanceCreate", 55: "MPTokenIssuanceDestroy", 56: "MPTokenIssuanceSet", 57: "MPTokenAuthorize", 58: "CredentialCreate",
	59: "CredentialAccept", 60: "CredentialDelete", 61: "NFTokenModify", 62: "PermissionedDomainSet", 63: "PermissionedDomainDelete",
	64: "DelegateSet", 65: "VaultCreate", 66: "VaultSet", 67: "VaultDelete", 68: "VaultDeposit", 69: "VaultWithdraw", 70: "VaultClawback",
	71: "Batch", 100: "EnableAmendment", 101: "SetFee", 102: "UNLModify",
}

func typeName(number uint16) string {
	if name, ok := typeNames[number]; ok {
		return name
	}
	return strconv.Itoa(int(number))
}
