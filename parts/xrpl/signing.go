package xrpl

// SigningData appends the bytes that the only signer of a transaction signs: the transaction
// without its signatures. The blob may contain signatures.
func SigningData(dst, blob []byte) ([]byte, error) {
	return appendUnsigned(append(dst, prefixSign...), blob)
}

// isSignature reports whether an outermost field is excluded from signing. Nested fields are always
// included. Source: the fields marked notSigning in rippled's sfields.macro.
func isSignature(kind, code int) bool {
	switch kind {
	case typeBlob:
		return code == codeTxnSignature || code == codeSignature || code == codeMasterSignature
	case typeArray:
		return code == codeSigners || code == codeBatchSigners
	case typeObject:
		return code == codeCounterpartySignature || code == codeSponsorSignature
	}
	return false
}

// Codes of fields that this package knows, by type.
const (
	codeTransactionType = 2 // UInt16
	codeLedgerEntryType = 1

	codeFlags            = 2 // UInt32
	codeSequence         = 4
	codeLedgerSequence   = 6
	codeSigningTime      = 9
	codeLastLedger       = 27
	codeTransactionIndex = 28
	codeTicketSequence   = 41

	codeLedgerHash        = 1 // Hash256
	codePreviousTxnID     = 5
	codeChannel           = 22
	codeLedgerIndex       = 6
	codeAmount            = 1 // Amount
	codeBalance           = 2
	codeTakerPays         = 4
	codeTakerGets         = 5
	codeLowLimit          = 6
	codeHighLimit         = 7
	codeFee               = 8
	codeBaseFeeDrops      = 22 // and following: set by the validators
	codePublicKey         = 1  // Blob
	codeSigningPubKey     = 3
	codeTxnSignature      = 4
	codeSignature         = 6
	codeMasterSignature   = 18
	codeAccount           = 1 // Account
	codeDestination       = 3
	codeRegularKey        = 8
	codeDelegate          = 12
	codeCounterparty      = 26
	codeSponsor           = 27
	codeModifiedNode      = 5 // Object
	codeCreatedNode       = 3
	codeDeletedNode       = 4
	codePreviousFields    = 6
	codeFinalFields       = 7
	codeNewFields         = 8
	codeSigner            = 16
	codeRawTransaction    = 34
	codeBatchSigner       = 35
	codeSigners           = 3 // Array
	codeAffectedNodes     = 8
	codeRawTransactions   = 30
	codeBatchSigners      = 31
	codeTransactionResult = 3 // UInt8

	codeCounterpartySignature = 37 // Object
	codeSponsorSignature      = 38
)

// appendUnsigned appends the signed fields of b, unchanged.
func appendUnsigned(dst, b []byte) ([]byte, error) {
	from, skipping := 0, false // from: start of the bytes not yet copied
	err := Walk(b, func(f Field) error {
		if f.Depth > 0 {
			return nil
		}
		switch {
		case skipping:
			if f.Ends() {
				from, skipping = f.End, false
			}
		case !f.Ends() && isSignature(f.Type, f.Code):
			dst = append(dst, b[from:f.Start]...)
			from, skipping = f.End, f.Opens()
		}
		return nil
	})
	if err != nil {
		return dst, err
	}
	return append(dst, b[from:]...), nil
}
