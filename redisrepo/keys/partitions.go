package keys

import (
	"fmt"
	"hash/crc32"
	"hash/fnv"
	"math/bits"
	"strconv"

	"frontpage/redisrepo/site"
)

// DocumentIndex is the index of the partition, of n, that has a document whose hash begins with these digits.
func DocumentIndex(n int, digits string) int {
	slot, _ := strconv.ParseUint(digits, 16, 16)
	return int(slot) % n // #nosec G115 -- 16 bits
}

// MaxPartitions is the maximum number of partitions of a site.
const MaxPartitions = 256

// tagNumbers has a row for each number of partitions: 1, 2, 4 and so on. {p<number>} is the tag of a partition. For
// partition i of n it is the first whose slot is in the middle half of the i-th of n equal ranges of slots, so shards
// with equal ranges have equal numbers of partitions, or as good as that. It tells where the data is: it must never
// change.
var tagNumbers = [...][]int{
	{1},
	{3, 1},
	{11, 10, 13, 12},
	{51, 20, 50, 21, 53, 22, 52, 23},
	{60, 59, 19, 3, 61, 58, 18, 2, 62, 48, 160, 1, 63, 49, 161, 0},
	{60, 77, 55, 42, 11, 171, 24, 7, 61, 76, 54, 43, 10, 170, 25, 6, 62, 75, 57, 40, 13, 173, 26, 5,
		63, 74, 56, 41, 12, 172, 27, 4},
	{68, 60, 77, 104, 55, 126, 131, 42, 15, 166, 171, 179, 28, 20, 3, 144, 69, 61, 76, 105, 54, 127, 130, 43,
		14, 167, 170, 178, 29, 21, 2, 145, 115, 66, 71, 79, 53, 120, 137, 44, 13, 160, 177, 322, 155, 26, 5, 39,
		114, 67, 70, 78, 52, 121, 136, 45, 12, 161, 176, 323, 154, 27, 4, 38},
	{267, 263, 346, 342, 73, 77, 100, 104, 377, 373, 256, 252, 131, 135, 42, 46, 15, 11, 166, 19, 201, 205, 209, 324,
		157, 28, 24, 20, 238, 315, 230, 234, 69, 116, 61, 65, 354, 279, 275, 271, 50, 54, 58, 127, 244, 240, 365, 248,
		332, 336, 213, 217, 174, 170, 649, 178, 222, 226, 303, 307, 2, 6, 145, 141, 111, 115, 62, 66, 357, 353, 276, 272,
		53, 57, 120, 124, 247, 243, 366, 362, 218, 335, 210, 214, 177, 173, 763, 767, 221, 225, 229, 304, 1, 5, 9, 39,
		264, 260, 345, 268, 70, 74, 78, 107, 374, 259, 255, 251, 49, 136, 41, 45, 16, 12, 165, 161, 202, 206, 323, 327,
		154, 150, 27, 23, 312, 316, 233, 237},
	{296, 68, 292, 556, 473, 60, 477, 64, 82, 491, 86, 278, 100, 274, 104, 270, 51, 442, 55, 446, 59, 617, 567, 613,
		245, 131, 241, 135, 1710, 139, 249, 360, 406, 15, 402, 11, 653, 197, 657, 19, 175, 201, 171, 205, 320, 209, 179, 1750,
		516, 662, 28, 666, 24, 437, 20, 433, 238, 3, 1761, 7, 230, 144, 234, 140, 266, 98, 262, 116, 483, 90, 487, 94,
		72, 461, 76, 288, 540, 284, 544, 280, 376, 1702, 372, 1706, 123, 257, 127, 253, 458, 571, 601, 398, 450, 43, 454, 47,
		1746, 332, 1742, 336, 213, 167, 217, 163, 185, 641, 181, 418, 760, 414, 189, 410, 156, 222, 152, 226, 303, 1777, 307, 1773,
		425, 36, 421, 32, 670, 504, 429, 500, 550, 294, 554, 290, 62, 471, 66, 298, 493, 80, 497, 84, 276, 88, 272, 106,
		440, 53, 444, 57, 448, 561, 611, 388, 133, 247, 137, 243, 366, 1712, 362, 1716, 17, 404, 13, 400, 195, 651, 191, 408,
		203, 177, 207, 173, 1756, 322, 1752, 326, 660, 514, 439, 510, 435, 26, 431, 22, 1, 1767, 5, 1763, 9, 232, 142, 236,
		110, 264, 114, 260, 92, 481, 96, 268, 463, 70, 467, 74, 286, 78, 282, 546, 1700, 129, 259, 370, 255, 121, 251, 125,
		49, 607, 577, 603, 41, 452, 45, 456, 330, 219, 169, 1740, 165, 211, 161, 215, 643, 187, 647, 183, 416, 762, 412, 766,
		220, 154, 224, 150, 228, 301, 1771, 158, 34, 427, 30, 423, 506, 672, 38, 676},
}

// Tagged returns the n partitions of a site with tags.
func Tagged(n int) []Partition {
	var partitions []Partition
	for _, number := range tagNumbers[bits.Len(uint(n))-1] { // #nosec G115 -- positive
		partitions = append(partitions, Partition("{p"+strconv.Itoa(number)+"}"))
	}
	return partitions
}

// Untagged is the only partition of a site on a single Redis, by default. Its meta: is also the record of the number of
// partitions. A site with tags has its record under that key, so that no program opens a second site beside it.
const Untagged Partition = ""

// SiteIndex is the index in the record of a site with tags; no partition has it.
const SiteIndex = -1

// PartitionsText is a number of partitions as text.
func PartitionsText(n int) string {
	if n == 1 {
		return "1 partition"
	}
	return strconv.Itoa(n) + " partitions"
}

// KeyIndex is the index of the partition, of n, that records an idempotency key.
func KeyIndex(n int, poster site.UserName, key string) int {
	return partitionOf(n, "%s:%s", poster, key)
}

// LinkIndex is the index of the partition, of n, that records a link by its digest.
func LinkIndex(n int, digest string) int { return partitionOf(n, "%s", digest) }

// partitionOf returns the index of a partition, always the same for the same text.
func partitionOf(partitions int, format string, args ...any) int {
	h := fnv.New32a()
	fmt.Fprintf(h, format, args...)
	return int(h.Sum32() % uint32(partitions)) // #nosec G115 -- few and positive
}

// SubjectIndex is the index of the partition, of n, that counts the charges of a user's member or of an
// address.
func SubjectIndex(n int, name string) int { return int(crc32.ChecksumIEEE([]byte(name))) % n }
