// Package sfield names the fields of the XRP Ledger's binary format that programs ask for, by the
// numbers of rippled's sfields.macro. It has neither all fields nor their names in JSON, and
// decodes nothing: services/ledger/xrpl does. It starts no goroutines.
package sfield

// ID is a field's type and code. IDs are in the order in which fields are serialized.
type ID uint32

// Make returns the ID of a type and a code, each from 1 to 255.
func Make(kind, code int) ID { return ID(kind<<16 | code) }

// Type is the number of the field's type.
func (id ID) Type() int { return int(id >> 16) }

// Code is the field's number among those of its type.
func (id ID) Code() int { return int(id & 0xffff) }

// Types of fields.
const (
	TypeUInt16    = 1
	TypeUInt32    = 2
	TypeUInt64    = 3
	TypeHash256   = 5
	TypeAmount    = 6
	TypeBlob      = 7
	TypeAccount   = 8
	TypeNumber    = 9
	TypeInt32     = 10
	TypeInt64     = 11
	TypeObject    = 14
	TypeArray     = 15
	TypeUInt8     = 16
	TypePathSet   = 18
	TypeVector256 = 19
	TypeUInt192   = 21
	TypeIssue     = 24
	TypeBridge    = 25
	TypeCurrency  = 26
)

// Fields.
const (
	LedgerEntryType ID = TypeUInt16<<16 | 1
	TransactionType ID = TypeUInt16<<16 | 2

	NetworkID            ID = TypeUInt32<<16 | 1
	Flags                ID = TypeUInt32<<16 | 2
	SourceTag            ID = TypeUInt32<<16 | 3
	Sequence             ID = TypeUInt32<<16 | 4
	PreviousTxnLgrSeq    ID = TypeUInt32<<16 | 5
	LedgerSequence       ID = TypeUInt32<<16 | 6
	SigningTime          ID = TypeUInt32<<16 | 9
	OwnerCount           ID = TypeUInt32<<16 | 13
	LastLedgerSequence   ID = TypeUInt32<<16 | 27
	TransactionIndex     ID = TypeUInt32<<16 | 28
	TicketSequence       ID = TypeUInt32<<16 | 41
	XChainClaimID        ID = TypeUInt64<<16 | 20
	XChainAccountCreates ID = TypeUInt64<<16 | 21

	LedgerHash    ID = TypeHash256<<16 | 1
	PreviousTxnID ID = TypeHash256<<16 | 5
	LedgerIndex   ID = TypeHash256<<16 | 6
	Channel       ID = TypeHash256<<16 | 22

	Amount          ID = TypeAmount<<16 | 1
	Balance         ID = TypeAmount<<16 | 2
	TakerPays       ID = TypeAmount<<16 | 4
	HighLimit       ID = TypeAmount<<16 | 7 // between them TakerGets and LowLimit
	Fee             ID = TypeAmount<<16 | 8
	BaseFeeDrops    ID = TypeAmount<<16 | 22 // and following: set by the validators
	SignatureReward ID = TypeAmount<<16 | 29

	PublicKey       ID = TypeBlob<<16 | 1
	SigningPubKey   ID = TypeBlob<<16 | 3
	TxnSignature    ID = TypeBlob<<16 | 4
	Signature       ID = TypeBlob<<16 | 6
	Domain          ID = TypeBlob<<16 | 7
	MemoData        ID = TypeBlob<<16 | 13
	MasterSignature ID = TypeBlob<<16 | 18

	Account                  ID = TypeAccount<<16 | 1
	Destination              ID = TypeAccount<<16 | 3
	RegularKey               ID = TypeAccount<<16 | 8
	Delegate                 ID = TypeAccount<<16 | 12
	OtherChainSource         ID = TypeAccount<<16 | 18
	AttestationRewardAccount ID = TypeAccount<<16 | 21
	Counterparty             ID = TypeAccount<<16 | 26
	Sponsor                  ID = TypeAccount<<16 | 27

	CreatedNode           ID = TypeObject<<16 | 3
	DeletedNode           ID = TypeObject<<16 | 4
	ModifiedNode          ID = TypeObject<<16 | 5
	PreviousFields        ID = TypeObject<<16 | 6
	FinalFields           ID = TypeObject<<16 | 7
	NewFields             ID = TypeObject<<16 | 8
	Memo                  ID = TypeObject<<16 | 10
	Signer                ID = TypeObject<<16 | 16
	RawTransaction        ID = TypeObject<<16 | 34
	BatchSigner           ID = TypeObject<<16 | 35
	CounterpartySignature ID = TypeObject<<16 | 37
	SponsorSignature      ID = TypeObject<<16 | 38

	Signers         ID = TypeArray<<16 | 3
	AffectedNodes   ID = TypeArray<<16 | 8
	Memos           ID = TypeArray<<16 | 9
	RawTransactions ID = TypeArray<<16 | 30
	BatchSigners    ID = TypeArray<<16 | 31

	TransactionResult   ID = TypeUInt8<<16 | 3
	WasLockingChainSend ID = TypeUInt8<<16 | 19

	MPTokenIssuanceID ID = TypeUInt192<<16 | 1

	XChainBridge ID = TypeBridge<<16 | 1
)
