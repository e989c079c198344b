package articles

import (
	"embed"

	"frontpage/redisrepo/wire"
)

//go:embed *.lua
var luaFiles embed.FS

var VotersScript = wire.Script(luaFiles, "voters.lua")
