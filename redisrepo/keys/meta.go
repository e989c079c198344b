package keys

// FieldOrigin is the epoch of the site that Migrate copied, or the digest of the export that Fill imported.
const FieldOrigin = "origin"

// FieldCursorKey is the field of meta:, of the first partition, with the key of cursors of rankings.
const FieldCursorKey = "cursor_key"

// Fields of meta:.
const (
	FieldLayout     = "layout"
	FieldPartitions = "partitions"
	FieldIndex      = "index"
	FieldEpoch      = "epoch"     // a random name that a store gets when it is created
	FieldForgotten  = "forgotten" // see Articles.Forgotten, and the voting window under which that was found out
)
