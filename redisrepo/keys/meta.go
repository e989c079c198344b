package keys

// FieldOrigin is the epoch of the site that Migrate copied, or the digest of the export that Fill imported.
const FieldOrigin = "origin"

// A cursor of a ranking decides how much is read for the page after it, so only Frontpage can make one: instead of a
// checksum it ends with a code that depends on a key of the site, which is in meta:.

// FieldCursorKey is the field of meta:, of the first partition, with the key of cursors of rankings.
const FieldCursorKey = "cursor_key"

// Fields of meta:.
const (
	FieldLayout     = "layout"
	FieldPartitions = "partitions"
	FieldIndex      = "index"
	FieldEpoch      = "epoch"     // a random name that a store gets when it is created
	FieldForgotten  = "forgotten" // see Repo.forgotten, and the voting window under which that was found out
)
