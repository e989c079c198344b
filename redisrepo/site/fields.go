package site

// Fields of an article's hash. Legacy clients write the first five only.
const (
	FieldTitle     = "title"
	FieldLink      = "link"
	FieldPoster    = "poster"
	FieldTime      = "time"
	FieldVotes     = "votes"
	FieldText      = "text"
	FieldDownvotes = "downvotes"
	FieldGroups    = "groups"    // names separated by spaces; missing if only legacy clients wrote the hash
	FieldRevision  = "revision"  // number of changes
	FieldCast      = "cast"      // net votes that are in the histories of their voters; missing if they are not all there
	FieldUncounted = "uncounted" // "1" if the poster's own vote is recorded, but does not count

	// Only edited articles have the next two; edition, also those that were regrouped.
	FieldEdits   = "edits"   // number of changes of the title or the text
	FieldEdited  = "edited"  // time of the last one, Unix seconds
	FieldEdition = "edition" // revision that the last change of the title, the text or the groups made

	FieldMilestone = "milestone" // the highest of Rules.Milestones that the net votes have reached; missing: none

	// Only deleted articles have the next two.
	FieldDeleted   = "deleted" // Unix seconds
	FieldDeletedBy = "deleted_by"
)
